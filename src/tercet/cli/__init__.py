"""The command `tercet` (needs `pip install 'tercet[cli]'`)."""
