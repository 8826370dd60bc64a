"""Engine: joint features of maximum entropy models and the log-linear objective."""
