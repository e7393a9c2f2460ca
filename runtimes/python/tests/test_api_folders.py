"""Models of folders and of the Hugging Face cache, with weights and processors of their own."""

import json

import numpy as np
import pytest
import transformers

import assay

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on a mat dog ran".split()
PICTURE = np.random.default_rng(0).integers(0, 255, (50, 70, 3)).astype(np.uint8)
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A checkpoint as somebody publishes one: configuration, weights, tokenizer."""
    folder = tmp_path_factory.mktemp("bert")
    config = transformers.BertConfig(vocab_size=len(WORDS), **SMALL)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder)
    return folder


def test_a_folder_brings_weights_and_words(bert):
    with assay.load(bert, "cpu") as model:
        said = model.settings()
        assert (said["size"], said["weights"], said["notes"]) == ("full", str(bert), [])
        assert "Bert" in said["reading"] and "Tokenizer" in said["reading"]
        found = model.run("the cat [MASK] on a mat")
        theirs = transformers.BertForMaskedLM.from_pretrained(bert)
        tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
        logits = theirs(**tokenizer("the cat [MASK] on a mat", return_tensors="pt")).logits[0].detach()
        assert [row["position"] for row in found] == [3]
        assert found[0]["id"] == int(logits[3].argmax())
        assert found[0]["token"] == tokenizer.decode([found[0]["id"]], skip_special_tokens=True)
        assert found[0]["score"] == pytest.approx(float(logits[3].softmax(-1).max()), rel=1e-4)
        assert [row["id"] for row in model.batch(["the cat [MASK]", "[MASK] ran"])[1]] == [
            row["id"] for row in model.run("[MASK] ran")
        ]


def test_a_folder_without_weights_has_drawn_ones(bert, tmp_path):
    (tmp_path / "config.json").write_bytes((bert / "config.json").read_bytes())
    with pytest.warns(UserWarning, match="random weights"):
        model = assay.load(tmp_path, "cpu")
    assert model.settings()["weights"] == "random"
    assert len(model.run("the cat")) == 7  # bytes: there is no tokenizer
    model.release()
    with pytest.raises(assay.Unavailable, match="safetensors"):
        assay.load(bert, "cpu", weights=str(tmp_path))


def test_a_folder_has_its_true_size(bert):
    with pytest.raises(assay.Unsupported, match="true size"):
        assay.load(bert, "cpu", size="tiny")


def test_a_configuration_of_no_model(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-type"}')
    with pytest.raises(assay.Unsupported, match="no-such-type"):
        assay.load(tmp_path, "cpu")


def test_weights_of_another_model_are_refused(bert):
    with pytest.raises(assay.Unsupported, match="another model"):
        assay.load("bert", "cpu", weights=str(bert))


def test_the_cache_is_looked_at(bert, tmp_path, monkeypatch):
    """A checkpoint that the catalogue does not know is found where Hugging Face's libraries keep it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(assay.UnknownModel):
        assay.load("somebody/small-bert", "cpu")
    commit, home = "0" * 40, tmp_path / "models--somebody--small-bert"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    (home / "snapshots").mkdir()
    (home / "snapshots" / commit).symlink_to(bert)
    with assay.load("somebody/small-bert", "cpu") as model, assay.load(bert, "cpu") as same:
        assert model.run("the [MASK] ran") == same.run("the [MASK] ran")
        assert (model.settings()["checkpoint"], model.settings()["weights"]) == ("somebody/small-bert", "hub")
        assert (same.settings()["checkpoint"], same.settings()["weights"]) == ("", str(bert))


def test_labels_and_pictures_are_the_checkpoints_own(tmp_path):
    names = {0: "cat", 1: "dog", 2: "mat"}
    config = transformers.ViTConfig(
        image_size=32, patch_size=8, id2label=names, label2id={name: i for i, name in names.items()}, **SMALL
    )
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path)
    with assay.load(str(tmp_path), "cpu") as model:
        found = model.run(PICTURE)
    theirs = transformers.ViTForImageClassification.from_pretrained(tmp_path)
    given = transformers.AutoImageProcessor.from_pretrained(tmp_path)(PICTURE, return_tensors="pt")
    shares = theirs(**given).logits[0].detach().softmax(-1)
    assert {row["label"] for row in found} == {"cat", "dog", "mat"}
    assert found[0]["label"] == names[int(shares.argmax())]
    assert found[0]["score"] == pytest.approx(float(shares.max()), rel=1e-4)


def test_a_text_goes_on_until_its_end(tmp_path):
    """A checkpoint that generates: the same text as transformers gives, cut where that ends it."""
    config = transformers.LlamaConfig(vocab_size=len(WORDS), bos_token_id=2, eos_token_id=3, pad_token_id=0, **SMALL)
    theirs = transformers.LlamaForCausalLM(config)
    theirs.save_pretrained(tmp_path)
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    transformers.BertTokenizerFast(
        vocab=vocabulary, eos_token="[SEP]", model_input_names=["input_ids", "attention_mask"]
    ).save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    given = tokenizer("the cat sat", return_tensors="pt")
    made = theirs.generate(**given, max_new_tokens=20, do_sample=False)[0, given["input_ids"].shape[1] :]
    with assay.load(tmp_path, "cpu") as model:
        found = model.generate("the cat sat", max_new_tokens=20)
    assert found == tokenizer.decode(made, skip_special_tokens=True)


def test_a_sound_is_read_by_its_own_tokenizer(tmp_path):
    """Connectionist temporal classification: repetitions once, and letters that are said twice twice."""
    letters = {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefghijklmnop"])}
    (tmp_path / "letters.json").write_text(json.dumps(letters))
    tokenizer = transformers.Wav2Vec2CTCTokenizer(str(tmp_path / "letters.json"))
    extractor = transformers.Wav2Vec2FeatureExtractor()
    config = transformers.Wav2Vec2Config(
        vocab_size=len(letters),
        conv_dim=(32,) * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        **SMALL,
    )
    theirs = transformers.Wav2Vec2ForCTC(config).eval()
    for part in (theirs, transformers.Wav2Vec2Processor(extractor, tokenizer)):
        part.save_pretrained(tmp_path)
    sound = np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    best = theirs(**extractor(sound, sampling_rate=16000, return_tensors="pt")).logits[0].argmax(-1)
    with assay.load(tmp_path, "cpu") as model:
        assert model.settings()["modalities"] == ["audio"]
        assert model.run(sound) == tokenizer.decode(best)
