"""Task heads: which auto mapping means which task, and which task is a type's default."""

from __future__ import annotations

from types import ModuleType

BASE_TASK = "feature-extraction"
BACKBONE_TASK = "backbone"

# One row for each auto mapping, in order of preference: the first mapping that holds a type names its default task.
# What a model was made for comes before what it can be fine-tuned to, and both before pre-training.
# Some mappings exist only in older or only in newer releases; a mapping that is not there holds nothing.
HEADS: tuple[tuple[str, str], ...] = (
    ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "text2text-generation"),
    ("MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES", "automatic-speech-recognition"),
    ("MODEL_FOR_CTC_MAPPING_NAMES", "automatic-speech-recognition"),
    ("MODEL_FOR_RNNT_MAPPING_NAMES", "automatic-speech-recognition"),
    ("MODEL_FOR_TDT_MAPPING_NAMES", "automatic-speech-recognition"),
    ("MODEL_FOR_MASKED_LM_MAPPING_NAMES", "fill-mask"),
    ("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "image-text-to-text"),
    ("MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES", "image-to-text"),
    ("MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "any-to-any"),
    ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "text-generation"),
    ("MODEL_FOR_TEXT_TO_SPECTROGRAM_MAPPING_NAMES", "text-to-speech"),
    ("MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES", "text-to-audio"),
    ("MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES", "video-classification"),
    ("MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES", "object-detection"),
    ("MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES", "zero-shot-object-detection"),
    ("MODEL_FOR_INSTANCE_SEGMENTATION_MAPPING_NAMES", "image-segmentation"),
    ("MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING_NAMES", "image-segmentation"),
    ("MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES", "image-segmentation"),
    ("MODEL_FOR_IMAGE_SEGMENTATION_MAPPING_NAMES", "image-segmentation"),
    ("MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES", "depth-estimation"),
    ("MODEL_FOR_NORMAL_ESTIMATION_MAPPING_NAMES", "normal-estimation"),
    ("MODEL_FOR_POINTMAP_ESTIMATION_MAPPING_NAMES", "pointmap-estimation"),
    ("MODEL_FOR_POSE_ESTIMATION_MAPPING_NAMES", "pose-estimation"),
    ("MODEL_FOR_KEYPOINT_MATCHING_MAPPING_NAMES", "keypoint-matching"),
    ("MODEL_FOR_KEYPOINT_DETECTION_MAPPING_NAMES", "keypoint-detection"),
    ("MODEL_FOR_IMAGE_MATTING_MAPPING_NAMES", "image-matting"),
    ("MODEL_FOR_IMAGE_TO_IMAGE_MAPPING_NAMES", "image-to-image"),
    ("MODEL_FOR_MASK_GENERATION_MAPPING_NAMES", "mask-generation"),
    ("MODEL_FOR_TABLE_RECOGNITION_MAPPING_NAMES", "table-recognition"),
    ("MODEL_FOR_TEXT_RECOGNITION_MAPPING_NAMES", "text-recognition"),
    ("MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES", "zero-shot-image-classification"),
    ("MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "image-classification"),
    ("MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES", "audio-classification"),
    ("MODEL_FOR_AUDIO_FRAME_CLASSIFICATION_MAPPING_NAMES", "audio-frame-classification"),
    ("MODEL_FOR_AUDIO_XVECTOR_MAPPING_NAMES", "speaker-verification"),
    ("MODEL_FOR_AUDIO_TOKENIZATION_NAMES", "audio-tokenization"),
    ("MODEL_FOR_TIME_SERIES_PREDICTION_MAPPING_NAMES", "time-series-forecasting"),
    ("MODEL_FOR_TIME_SERIES_CLASSIFICATION_MAPPING_NAMES", "time-series-classification"),
    ("MODEL_FOR_TIME_SERIES_REGRESSION_MAPPING_NAMES", "time-series-regression"),
    ("MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES", "visual-question-answering"),
    ("MODEL_FOR_DOCUMENT_QUESTION_ANSWERING_MAPPING_NAMES", "document-question-answering"),
    ("MODEL_FOR_TABLE_QUESTION_ANSWERING_MAPPING_NAMES", "table-question-answering"),
    ("MODEL_FOR_RETRIEVAL_MAPPING_NAMES", "visual-document-retrieval"),
    ("MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES", "question-answering"),
    ("MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES", "text-classification"),
    ("MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES", "token-classification"),
    ("MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES", "multiple-choice"),
    ("MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES", "next-sentence-prediction"),
    ("MODEL_FOR_MASKED_IMAGE_MODELING_MAPPING_NAMES", "masked-image-modeling"),
    ("MODEL_FOR_CAUSAL_IMAGE_MODELING_MAPPING_NAMES", "causal-image-modeling"),
    ("MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES", "text-encoding"),
    ("MODEL_MAPPING_NAMES", BASE_TASK),
    ("MODEL_FOR_IMAGE_MAPPING_NAMES", "image-feature-extraction"),
    ("MODEL_FOR_BACKBONE_MAPPING_NAMES", BACKBONE_TASK),
    ("MODEL_FOR_PRETRAINING_MAPPING_NAMES", "pretraining"),
)

# Heads that say nothing about what a model is for: the bare model in its several uses.
BARE_TASKS = frozenset({BASE_TASK, BACKBONE_TASK, "image-feature-extraction", "text-encoding", "pretraining"})


def heads_of(model_type: str, auto: ModuleType) -> list[tuple[str, str]]:
    """Returns (task, class name) of every head of the type, its default first, none twice.

    ``auto`` is ``transformers.models.auto.modeling_auto``.
    """
    found: dict[tuple[str, str], None] = {}
    for mapping, task in HEADS:
        names = getattr(auto, mapping, {}).get(model_type, ())
        for name in (names,) if isinstance(names, str) else names:
            found[task, name] = None
    return list(found)
