"""Writes a torch model as a graph that gives its numbers: what all engines share.

`trying` tries one `Way` after the other (`ways`): transformers' own exporter first, torch's then; with the inputs as
they are, then with more of those as constants that only describe others (`constants`); with the kernels that the model
chose, then with the plainest it has. An exporter (`exporters`) sees a forward that gives named tensors (`call`), in
which everything that follows from known values alone is computed and not traced (`following`), the numbers in small
buffers included (`buffers`), in which known masks are left out as in an ordinary call (`masks`), and in which functions
that exporters write as loops are made of plainer ones (`plainer`). Loops over chosen experts run over all (`mixtures`),
experts for words and for images see all tokens (`parting`), questions that only save work are not asked (`guards`),
chunks of linear attention are no longer than the sequence (`chunks`), indexers choose for all queries at once
(`indexers`),
layers are not converted to what they are (`casts`), and as a last resort what the model decides by values is fixed to
what it is in this call (`values`); `notes` says so in the graph's steps. Which axes stay free, where any are to, is
said in `axes`.

What an exporter made gets the names of the recipe (`naming`), goes through the rewriting steps (`steps`), is written
(`writing`) and is run in ONNX Runtime against torch's outputs (`comparison`). The first graph that passes is the
answer; `trying` keeps track of those that did not, and `traces` reads from their errors where they stopped.

What only one engine reads is written in that engine's folder: OpenVINO's own format, programs of torch.export, models
that generate. `engines.formats` says what a format is. What an encoder gives is computed once
(`encoder_decoder`). What was written is kept in a `store`.

What the library's exporters do besides tracing is kept short (`optimising`), by replacing parts of it (`replacing`).
"""
