"""What users construct and fit: scikit-learn's side of the house."""
