import shutil

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from skim.embedding import TextEmbedder, weights_home


@pytest.fixture(scope="session")
def text(text_folder, texts):
    return TextEmbedder(model=text_folder).fit(texts)


def directly(folder, texts, pooling):
    """Embed each text separately, with transformers alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
    with torch.no_grad():
        hidden = [
            network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            for text in texts
        ]
    return np.stack([h[0] if pooling == "cls" else h.mean(0) for h in hidden])


@pytest.mark.parametrize(("pooling", "batch_size"), [("cls", 1), ("mean", 3)])
def test_embedding_is_what_transformers_gives(text_folder, texts, pooling, batch_size):
    texts = [*texts, ""]  # represented by the special tokens
    settings = {"model": text_folder, "pooling": pooling, "batch_size": batch_size}
    embedding = TextEmbedder(**settings).fit_transform(texts)
    assert embedding.dtype == np.float32
    expected = directly(text_folder, texts, pooling)
    assert_allclose(embedding, normalize(expected), atol=1e-5)
    unscaled = TextEmbedder(normalize=False, **settings)
    assert_allclose(unscaled.fit_transform(texts), expected, atol=1e-5)


def test_every_kind_of_input_gives_the_same(text, texts):
    expected = text.transform(texts)
    for same in (
        tuple(texts),
        np.array(texts),
        np.array(texts, dtype=object)[:, None],
        pd.Series(texts),
        pd.Series(texts, dtype="string"),
        pd.DataFrame({"note": texts}),
    ):
        assert_array_equal(text.transform(same), expected)


def test_long_texts_are_truncated(text, text_folder, tmp_path):
    long = ["cat " * 100]
    assert_array_equal(text.transform(long), text.transform(["cat " * 22]))
    sentence_model = shutil.copytree(text_folder, tmp_path / "own")
    settings = sentence_model / "sentence_bert_config.json"
    settings.write_text('{"max_seq_length": 5}')
    short = TextEmbedder(model=sentence_model).fit(long)
    assert_array_equal(short.transform(long), short.transform(["cat " * 3]))
    assert not np.allclose(short.transform(long), text.transform(long))


def test_bad_texts_are_refused(text, text_folder):
    for bad, message in (
        ("cat", r"one string"),
        ([], r"0 sample"),
        (["cat", "mat", np.nan], r"got nan in row 2"),
        (pd.Series(["cat", None], dtype="string"), r"got <NA> in row 1"),
        ([b"cat"], r"got b'cat' in row 0"),
        (np.zeros((2, 2)), r"one column"),
        (np.zeros((2, 1)), r"got 0.0 in row 0"),
    ):
        for method in (TextEmbedder(model=text_folder).fit, text.transform):
            with pytest.raises(ValueError, match=message):
                method(bad)


def test_similar_sentences_are_close_with_real_weights():
    if not (weights_home() / "all-MiniLM-L6-v2" / "config.json").is_file():
        pytest.skip("weights not cached")
    nap, sleep, stocks = TextEmbedder().fit_transform(
        [
            "A kitten is napping on the couch.",
            "The cat sleeps on the sofa.",
            "Stock prices fell sharply today.",
        ]
    )
    assert nap.shape == (384,)
    assert nap @ sleep > 0.6
    assert max(nap @ stocks, sleep @ stocks) < 0.2
