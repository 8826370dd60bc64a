"""PreparedRows and strings prepared for blocks of Gram matrices."""
