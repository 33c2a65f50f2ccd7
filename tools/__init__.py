"""What looks the project over and releases it: `make check`, `make audit`, `make fuzz`, `make release`."""
