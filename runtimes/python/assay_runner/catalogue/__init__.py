"""What there is: the model types of transformers, the pipelines of diffusers, and known checkpoints."""
