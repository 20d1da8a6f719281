"""The judge: the model under a backend's choices, compared with what the backend showed."""
