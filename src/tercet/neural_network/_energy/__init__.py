"""What energy-based networks share: states of binary units, and warnings of Gibbs chains that disagree."""
