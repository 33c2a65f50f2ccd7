"""The five steps: collect, preprocess, send, process, feed back. Objects without input and output."""
