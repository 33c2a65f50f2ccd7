"""`python -m scripts.reference`: write the pages that are made from code."""

from scripts.reference import pages

for path, text in pages().items():
    path.write_text(text)
