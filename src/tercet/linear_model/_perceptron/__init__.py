"""Engine: visiting orders, update trajectories and the penalised sweep of the perceptron."""
