"""The program `rag`: retrieval-augmented generation from end to end.

A question's ids are encoded, the encoding asks an index in memory for the documents nearest to it by inner product,
each document's ids are joined with the question's as the released retriever joins them (document first), and the
generator reads every pair; its answers are weighed by the documents' scores. All of it is torch on one device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import PreTrainedModel

from assay_runner.subjects import models
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]
PART = "index"


class Index(torch.nn.Module):
    """Documents: their embeddings and their ids. Buffers, since an index holds data and nothing that was learnt."""

    embeddings: torch.Tensor
    documents: torch.Tensor

    def __init__(self, documents: int, tokens: int, low: int, high: int, width: int) -> None:
        super().__init__()
        drawn = torch.nn.init.normal_(torch.empty(documents, width), std=width**-0.5)
        self.register_buffer("embeddings", drawn)
        self.register_buffer("documents", torch.randint(low, high, (documents, tokens)))

    def forward(self, question: torch.Tensor, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and places of the documents nearest to each question, the nearest first."""
        return torch.topk(question @ self.embeddings.T.to(question.dtype), number, dim=-1)


class Retrieval(Wrapped):
    """A RAG model with its index."""

    def __init__(self, model: PreTrainedModel, index: Index) -> None:
        super().__init__(model)
        self.index = index

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, decoder_input_ids: torch.Tensor, **call: Any
    ) -> dict[str, torch.Tensor]:
        """Answers questions. Returns the answer's logits and which documents were read.

        The scores are left out: they weigh the answer already, and a control that only moved them would not have
        shown that documents are read. The model gives log-probabilities; what normalises them, the same number for
        all words, is taken off, since it would hide how much an answer changes.
        """
        question = self.model.question_encoder(input_ids, attention_mask=attention_mask)[0]
        scores, places = self.index(question, self.config.n_docs)
        contexts = self._joined(self.index.documents[places], input_ids)
        given = self._joined(torch.ones_like(self.index.documents)[places], attention_mask)
        answer = self.model(
            context_input_ids=contexts,
            context_attention_mask=given,
            doc_scores=scores,
            decoder_input_ids=decoder_input_ids,
            **call,
        )
        logits = answer.logits - answer.logits.mean(-1, keepdim=True)
        return {"logits": logits, "doc_ids": places}

    def _joined(self, documents: torch.Tensor, question: torch.Tensor) -> torch.Tensor:
        """Each document with the question after it: batch × documents rows."""
        repeated = question[:, None].expand(-1, documents.shape[1], -1)
        return torch.cat([documents.to(question.dtype), repeated], -1).flatten(0, 1)


def construct(recipe: Recipe, attention: str | None) -> Retrieval:
    """The recipe's class with drawn weights, and an index of drawn documents."""
    return around(recipe, models.model_class(recipe)(models.config(recipe, attention)))


def around(recipe: Recipe, model: PreTrainedModel) -> Retrieval:
    """A RAG model with an index of drawn documents."""
    size = recipe["parts"][PART]["config"]
    return Retrieval(model, Index(**size, width=model.config.question_encoder.hidden_size))
