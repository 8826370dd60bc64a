"""Engine of the Markov chain samplers: random numbers in blocks, compiled loops, adaptation."""
