"""How a training run is watched, ended and recorded; nothing of scikit-learn."""
