"""QNN: Qualcomm's tensor processor, with its rewrites, its quantising, its compiler's contexts and its generation."""
