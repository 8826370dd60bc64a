"""What makes the discriminants fast."""
