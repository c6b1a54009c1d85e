"""What core says when something fails, as templates: `braid.app.words.reasons` recognizes and translates them.

A template is the message as core writes it, with a name for each part that varies. ``what``, ``other`` and ``advice``
stand for one of `LABELS`; ``reason`` for another message.
"""

from __future__ import annotations


def N_(text: str) -> str:  # the name that Babel extracts
    """Mark a text for translation, which happens when it is shown."""
    return text


LABELS = (
    N_("plain text"),
    N_("binary data"),
    N_("a Markdown document"),
    N_("a web page"),
    N_("a PDF document"),
    N_("a Word document"),
    N_("a PowerPoint presentation"),
    N_("an Excel workbook"),
    N_("an OpenDocument text"),
    N_("an OpenDocument spreadsheet"),
    N_("an OpenDocument presentation"),
    N_("a Hangul document (HWPX)"),
    N_("a Hangul document (HWP)"),
    N_("subtitles"),
    N_("a Jupyter notebook"),
    N_("a CSV table"),
    N_("a TSV table"),
    N_("a JSON document"),
    N_("a JSON Lines document"),
    N_("an XML document"),
    N_("a news feed"),
    N_("a web archive"),
    N_("a mail"),
    N_("an EPUB book"),
    N_("%(language)s source code"),
    N_("a YAML document"),
    N_("a TOML document"),
    N_("a settings file"),
    N_("a shell script"),
    N_("a zip archive that is damaged or cut off"),
    N_("a zip archive"),
    N_("an Office document encrypted with a password"),
    N_("a document of Word 97–2003"),
    N_("a presentation of PowerPoint 97–2003"),
    N_("a workbook of Excel 97–2003"),
    N_("an Outlook message"),
    N_("an old Office file"),
    N_("a Hangul document of before 2002"),
    N_("a binary Excel workbook"),
    N_("an OpenDocument file"),
    N_("a Pages, Numbers or Keynote document"),
    N_("an SQLite database"),
    N_("a compiled program"),
    N_("a Windows program"),
    N_("a program"),
    N_("a video or audio recording"),
    N_("a rich text (RTF) document"),
    N_("a %(format)s image"),
    N_("a %(format)s archive"),
    N_("an %(format)s archive"),
    N_("an %(format)s recording"),
    N_("a %(format)s table"),
    N_("a %(format)s document"),
    N_("copy or download it again"),
    N_("remove the password in the program that made it, and add it again"),
    N_("save it as %(formats)s"),
    N_("split it into smaller files"),
)

FILES = (
    N_("%(name)s is empty: it has 0 bytes; check that it was saved"),
    N_("%(name)s cannot be read here: %(error)s"),
    N_("%(name)s has %(size)s bytes; at most %(most)s are read, so split it"),
    N_("%(name)s has more than %(most)s bytes, which is the limit; split it"),
    N_("%(name)s is nested too deeply to be read; save it in a simpler form"),
    N_("%(name)s is damaged, or is not %(other)s; copy or export it again"),
    N_("%(name)s is a PDF document that was cut off: its end is missing; copy or download it again"),
    N_("%(name)s has no text layer (it holds scanned pages or images); run OCR on it first"),
    N_(
        "%(name)s has no text layer (it holds scanned pages or images); run OCR on it first, or have Braid read it: "
        "%(command)s"
    ),
    N_("%(name)s has letters without meaning, as its fonts do not say which letters they draw; run OCR on it first"),
    N_(
        "%(name)s has letters without meaning, as its fonts do not say which letters they draw; run OCR on it first, "
        "or have Braid read it: %(command)s"
    ),
    N_("%(name)s takes more memory than there is; split it"),
    N_("%(name)s has %(number)s pixels; at most %(most)s are read, so make it smaller"),
    N_("%(name)s has more than %(number)s pages; at most %(most)s are read, so split it"),
    N_("scanned pages are not read here: %(command)s"),
    N_("the file of %(name)s is not kept any more; add it again"),
    N_("%(name)s is encrypted with a password; save it without one and add it again"),
    N_("%(name)s is encrypted with a password; remove the password and add it again"),
    N_("%(name)s is encrypted (copy protection); add a copy without protection"),
    N_("%(name)s has %(pages)s pages; at most %(most)s are read, so split it"),
    N_("%(name)s draws more on its pages than its size allows; print it to a new PDF, or split it"),
    N_("the file cannot be opened"),
    N_("the page draws more than can be shown"),
    N_("page %(number)s is damaged"),
    N_("%(name)s is packed by a method that is not known here, such as Deflate64; pack it again"),
    N_("there is no page %(number)s; the file has %(pages)s"),
    N_("%(name)s is damaged: it does not say where its contents are; copy or export it again"),
    N_("%(name)s has an element with more than %(most)s attributes; save it in a simpler form"),
    N_("%(name)s is not valid JSON: %(error)s at line %(line)s, column %(column)s; correct it and add it again"),
    N_("%(name)s has more than %(most)s nested parts; save the mails in it one by one"),
    N_("%(name)s has more than %(most)s parts; save the mails in it one by one"),
    N_("%(name)s is not a mail: it has no From, Subject or Date line; save it as .txt"),
    N_(
        "%(name)s needs LibreOffice to be read, which is not installed: apt-get install libreoffice-%(part)s-nogui; "
        "or save it as %(format)s"
    ),
    N_("%(name)s has no subtitles in it: no line has two times with --> between them; save it as .txt"),
    N_("%(name)s has a sheet of more than %(most)s cells; split it"),
    N_("%(name)s is not unpacked because it holds %(files)s files, more than %(most)s; split it into smaller files"),
    N_("%(name)s is not unpacked because it unpacks to more than %(most)s bytes; split it into smaller files"),
    N_(
        "%(name)s is not unpacked because a part of it unpacks to more than %(most)s times its size; "
        "split it into smaller files"
    ),
    N_(
        "%(name)s is not unpacked because the list of its files takes %(size)s bytes, more than %(most)s files need; "
        "split it into smaller files"
    ),
    N_("%(name)s is a zip archive, and it holds %(files)s files, more than %(most)s; split it into smaller files"),
    N_(
        "%(name)s is a zip archive, and the list of its files takes %(size)s bytes, more than %(most)s files need; "
        "split it into smaller files"
    ),
    N_("%(name)s is a zip archive within another one; unpack it and add the files in it"),
    N_("%(name)s holds %(files)s files; at most %(most)s are read, so split it"),
    N_("%(name)s holds no file that can be read; unpack it and add one of them to see why"),
    N_("%(name)s has a part in another encoding than UTF-8, as no office program does; export it again"),
    N_("%(name)s defines XML entities or a document type, as no office program does; export it again"),
    N_("%(name)s is %(what)s, not %(other)s; rename it to %(new)s"),
    N_("%(name)s is %(what)s; rename it to %(new)s"),
    N_("%(name)s is %(what)s, not %(other)s: it is damaged or wrongly named; copy or export it again"),
    N_("%(name)s has no text in it; check that it is the right file"),
    N_("%(name)s has no text in it"),
    N_("%(name)s took more than %(seconds)s seconds to read; split it"),
    N_("%(name)s made the program that reads it crash (%(signal)s); split it, or save it in another format"),
    N_("%(name)s made the program that reads it crash; split it, or save it in another format"),
    N_("%(name)s takes more than %(most)s MiB of memory to read; split it"),
    N_("%(name)s has too much text for one document; split it"),
    N_("%(name)s cannot be read: the reader %(reader)s failed: %(error)s"),
    N_("%(name)s cannot be read: the reader %(reader)s returned %(type)s, not a ParsedDocument of Sections"),
    N_("%(name)s cannot be read: its form is not one that is known; save it again, or in another format"),
    N_("%(name)s has a name that is not valid UTF-8; rename it"),
    N_("%(names)s have the same source; ingest them with different prefixes"),
    N_("the link leads to nothing, to itself or to something that is not a regular file"),
    N_("the folder is left out, it cannot be read: %(error)s"),
    N_("the folder is left out, its %(name)s cannot be read: %(error)s"),
    N_("the file name %(name)s is empty; rename the file"),
    N_("the file name %(name)s has %(count)s characters; at most %(most)s are allowed, so shorten it"),
    N_("the file is not there any more; upload it, or export it, again"),
    N_("this is no export of a dataset that can be imported: %(error)s"),
    N_("the program that reads documents does not start; the server's log says why"),
    N_("Braid is being closed; the file is read at the next start"),
    N_("others are being read; send this again in a moment"),
    N_("%(most)s texts of yours are being read; send this one after them"),
)

JOBS = (
    N_("the server stopped %(times)s times while running this job; try it again by hand"),
    N_("internal error; the log says more under job %(job)s"),
    N_("it was interrupted, because its process ended; start it again"),
    N_("the database does not answer; try again in a moment"),
    N_("the store of files does not answer; try again in a moment"),
    N_("all connections to the database are in use; try again in a moment"),
    N_("another program keeps the database locked; try again in a moment"),
    N_("the disk of the server is full; tell the administrator"),
    N_("the data of the server can only be read now; tell the administrator"),
    N_("the disk of the server cannot be used; tell the administrator"),
    N_("the database of the server is damaged; tell the administrator, who restores a backup"),
    N_("the server may not use some of its own files; tell the administrator"),
    N_("Braid is being stopped; try again in a moment"),
    N_("the title is empty; say what the text is"),
    N_("the text is empty; type or paste some"),
)

PAGES = (
    N_("%(url)s has %(count)s characters; at most %(most)s are allowed"),
    N_("%(url)s is not valid; copy it from the browser's address bar"),
    N_("%(url)s must begin with http:// or https://; give the address of a web page"),
    N_("%(url)s must not have a user name or password in it; leave them out"),
    N_("%(url)s names port %(port)s; only 80 and 443 are allowed, so upload the page as a file"),
    N_(
        "%(url)s leads to %(host)s, which is in a private or reserved network, from where nothing is fetched; download "
        "the page and upload it as a file, or ask the administrator for the setting allow_private_urls"
    ),
    N_("%(url)s was not answered within %(seconds)s seconds; try it again later"),
    N_("%(url)s cannot be reached; check its spelling, and whether a browser shows it"),
    N_("%(url)s redirects more than %(times)s times; give the address where it ends"),
    N_("%(url)s was answered with status %(status)s; check whether a browser shows it"),
    N_("%(url)s is packed as %(encoding)s, which cannot be read; download and upload it"),
    N_("%(url)s is damaged; try it again, or download and upload it"),
    N_("%(url)s has more than %(most)s bytes, which is the limit; add a part of it"),
    N_("%(url)s is %(type)s, which cannot be read; give a page, a PDF or a text"),
    N_("%(url)s does not say what it is, which cannot be read; give a page, a PDF or a text"),
)

FOLDERS = (
    N_("there is no folder %(folder)s; nothing is changed"),
    N_("there is no folder %(folder)s on the server; make it first"),
    N_("the folder %(folder)s is the whole disk; choose one on it"),
    N_("the folder %(folder)s is not an absolute path; write it from the root of the server's disk"),
    N_("%(folder)s holds files of the system itself; choose another"),
    N_("%(folder)s holds a settings file with its keys; choose another"),
    N_("%(folder)s is a link out of the folders of folder_roots"),
    N_("%(folder)s is not below %(roots)s (setting folder_roots); choose a folder there"),
    N_("%(count)s patterns are more than %(most)s; put them into a .braidignore"),
)

SEARCH = (
    N_("it was asked for before"),
    N_("the first %(count)s of %(total)s passages; the prompt has no room for more"),
    N_("%(count)s of %(total)s passages, those that were asked about"),
    N_("the first %(count)s of %(total)s passages"),
    N_("nothing new, so no further search was made"),
    N_("%(reason)s; nothing more was looked up with it"),
    N_("looking up more ended after %(seconds)s s, the limit lookup_seconds"),
    N_("looking up more ended at %(tokens)s tokens, the limit lookup_tokens"),
    N_("no answer within %(seconds)s s"),
    N_("the embedding model %(model)s took longer than %(seconds)s s for %(count)s sentences"),
    N_("the embedding model %(model)s took longer than %(seconds)s s"),
    N_("the embedding model %(model)s failed: %(error)s"),
    N_("the embedding model %(model)s cannot be loaded: %(error)s"),
    N_("the reranker %(model)s took longer than %(seconds)s s"),
    N_("the reranker %(model)s failed: %(error)s; check the key, reranker_api_key"),
    N_(
        "the reranker %(model)s failed: %(error)s; check the name of the model, and reranker_depth where the server "
        "takes fewer passages"
    ),
    N_(
        "the reranker %(model)s failed: %(error)s; check the address, reranker_base_url, and whether the server is "
        "one of cohere, jina, voyage or tei"
    ),
    N_("the reranker %(model)s failed: %(error)s; check that the server runs, and its address, reranker_base_url"),
    N_("the reranker %(model)s failed: %(error)s; check its kind, model, address and key under Administration, Models"),
    N_("the reranker %(model)s is no longer used here; search again"),
    N_(
        "the key of the reranker %(model)s can no longer be read; connect it again with the key, under Administration, "
        "Models"
    ),
    N_("the reranker %(model)s failed: %(error)s"),
    N_("%(reason)s; min_score is meant for its scores and was not applied"),
    N_("%(reason)s; the answer is made of sentences of the passages instead"),
    N_("%(reason)s; feedback is used instead"),
    N_("%(reason)s; it is asked again in %(seconds)s s"),
    N_("the model %(model)s gave nothing usable (%(said)s)"),
    N_("the model %(model)s stopped within a thought; its answer may lack the end"),
    N_("the model %(model)s ended without the mark that its answer is complete"),
    N_("the model %(model)s reached its limit of words"),
    N_("the answer was cut after %(most)s characters, which is the limit"),
    N_("the answer was cut after %(count)s minutes, which is the limit"),
    N_("the model was stopped after %(most)s characters, reasoning included, which is the limit"),
    N_("the model %(model)s took longer than %(seconds)s s; ask again, or choose a faster one"),
    N_("the model %(model)s took longer than %(seconds)s s"),
    N_("the model gave an empty answer"),
    N_("the model stopped within a thought"),
    N_("%(count)s of your questions are being answered; wait for one, or stop one"),
    N_("the model %(model)s needs a package: pip install %(package)s"),
    N_("the model %(model)s cannot be loaded: %(error)s"),
    N_("the model %(model)s is busy; try again in %(seconds)s s"),
    N_("the model %(model)s failed: its server refuses the key; enter another one: %(error)s"),
    N_("the model %(model)s failed: its server does not have it; choose another one: %(error)s"),
    N_("the model %(model)s failed: its server has an error of its own; try again later: %(error)s"),
    N_("the model %(model)s failed: it did not answer in time; ask again, or choose a faster one: %(error)s"),
    N_("the model %(model)s failed: its server cannot be reached; start it, or check its address: %(error)s"),
    N_(
        "the model %(model)s failed: its answer cannot be read; check that the address is that of a model server: "
        "%(error)s"
    ),
    N_("the model %(model)s failed: %(error)s"),
    N_("you may no longer read some of the documents that this answer was written from; ask again"),
    N_("only the first %(count)s passages were compressed; ask for fewer"),
    N_("the model was given the first %(count)s passages alone; ask for fewer"),
)

REQUESTS = (
    N_("at most %(most)s bytes are accepted at once; split it"),
    N_("the form has %(count)s fields; at most %(most)s are read"),
    N_("too many questions of all users are being answered; try again in a moment"),
    N_("at most %(most)s are answered; try again in %(seconds)s s"),
    N_("too many attempts; wait a minute and try again"),
    N_("you have %(most)s datasets, which is the limit; delete one first"),
    N_("you have %(most)s documents, which is the limit; delete some first"),
    N_("%(name)s has %(most)s documents, which is the limit; delete some first"),
    N_(
        "%(name)s would have more than %(datasets)s datasets or %(documents)s documents, which are the limits; "
        "an administrator can raise them"
    ),
    N_("%(name)s may no longer change dataset %(number)s; ask its owner to share it"),
    N_("the dataset is shared with %(most)s users and groups, which is the limit; share it with a group instead"),
    N_("the assistant is shared with %(most)s users and groups, which is the limit; share it with a group instead"),
    N_("this assistant is no longer open to you; choose another one, or datasets of your own selection"),
    N_("none of the datasets of this assistant is open to you; ask for access on its page"),
    N_("not open to you: %(count)s of the %(total)s datasets of this assistant"),
    N_("the assistant's model %(model)s is not offered any more; yours is used instead"),
    N_("there is no assistant %(number)s"),
    N_("you have %(most)s assistants, which is the limit; delete one"),
    N_("%(name)s would have more than %(most)s assistants, the limit"),
    N_("there is no answer to share yet; ask a question first"),
    N_("this link leads nowhere: it was taken back, or is incomplete; ask for a new one"),
    N_("the datasets are this user's already; name another one"),
    N_("the group's name is empty; type at least one character"),
    N_("there is a group named '%(name)s' already; choose another name"),
    N_("%(most)s uploads wait or have failed, which is the limit; wait, or remove failed ones"),
    N_("%(count)s documents are selected; at most %(most)s can be"),
    N_("no file was chosen; choose one"),
    N_("the short form is empty; give both forms of the name"),
    N_("the long form is empty; give both forms of the name"),
    N_("both forms are '%(form)s'; give another form of the name"),
    N_("line %(number)s: the short form is empty; give both forms of the name"),
    N_("line %(number)s: the long form is empty; give both forms of the name"),
    N_("line %(number)s: both forms are '%(form)s'; give another form of the name"),
    N_("the first line must name the columns: short,long"),
    N_("the file is not in UTF-8; save it as CSV in UTF-8"),
    N_("the question is empty; type one"),
    N_("the question has %(count)s characters; at most %(most)s are allowed"),
    N_("the query has %(count)s characters; at most %(most)s are allowed"),
    N_("there is no such passage, or it is not yours; search again, it may have been replaced"),
    N_("there is no such document, or it is not yours; it may have been deleted"),
    N_("there is no document %(id)s in dataset %(dataset)s"),
    N_("there is no dataset %(id)s"),
    N_("there is no conversation %(id)s"),
    N_("there is no answer %(id)s in this conversation"),
    N_("there is no user %(id)s"),
    N_(
        "%(name)s begins with %(provider)s, which is neither a connected server nor a provider; connect the server on "
        "this page first, or correct the name"
    ),
)

SHOWN = {
    "sign in, or send an API token: Authorization: Bearer braid_…": N_("your session has ended; sign in again"),
    "no search model is configured (setting search_model)": N_("no query model is configured (setting search_model)"),
    "%(folder)s is in the data directory, which holds keys and the documents of all; choose another": N_(
        "%(folder)s is in the data folder, which holds keys and everyone's documents; choose another"
    ),
    "the data directory %(data)s is in %(folder)s; choose a folder beside it": N_(
        "the data folder %(data)s is in %(folder)s; choose a folder beside it"
    ),
    "%(name)s is %(what)s, not %(other)s; only its text can be read, saved as one of %(formats)s": N_(
        "%(name)s is %(what)s, not %(other)s; save its text as PDF, Word, Markdown or plain text and add that"
    ),
    "%(name)s is %(what)s, which cannot be read; save its text as one of %(formats)s": N_(
        "%(name)s is %(what)s, which cannot be read; save its text as PDF, Word, Markdown or plain text and add that"
    ),
    "%(name)s has the type %(type)s that is not known; save it as one of %(formats)s": N_(
        "%(name)s has an unknown type (%(type)s); save it as PDF, Word, Markdown or plain text"
    ),
    "%(name)s has no file extension, so its type is not known; save it as one of %(formats)s": N_(
        "%(name)s has no file extension, so its type is unknown; add an extension such as .txt or .md"
    ),
    "%(name)s is %(what)s; %(advice)s": N_("%(name)s is %(what)s; %(advice)s"),
    "%(count)s passages of %(collection)s are not in the dense index yet: %(reason)s": N_(
        "%(count)s passages are not ready for search by meaning yet: %(reason)s"
    ),
    "%(count)s passages of %(collection)s are not in the dense index yet": N_(
        "%(count)s passages are not ready for search by meaning yet"
    ),
    "%(count)s passages of %(collection)s are not in the bm25 index yet: %(reason)s": N_(
        "%(count)s passages are not ready for search by keyword yet: %(reason)s"
    ),
    "%(count)s passages of %(collection)s are not in the bm25 index yet": N_(
        "%(count)s passages are not ready for search by keyword yet"
    ),
    "%(count)s passages of %(collection)s were refused by the embedding model; "
    "`braid doctor --repair` has it embed them again": N_("the embedding model refused %(count)s passages"),
    "the dense index of %(collection)s is being checked": N_("the index for search by meaning is being checked"),
    "the bm25 index of %(collection)s is being checked": N_("the index for search by keyword is being checked"),
    "the dense index of %(collection)s is being rebuilt, %(count)s passages to go": N_(
        "the index for search by meaning is being rebuilt, %(count)s passages to go"
    ),
    "the bm25 index of %(collection)s is being rebuilt, %(count)s passages to go": N_(
        "the index for search by keyword is being rebuilt, %(count)s passages to go"
    ),
    "the keyword index of %(collection)s is empty; it is being looked at": N_(
        "the index for search by keyword is empty and is being checked"
    ),
    "the keyword index of %(collection)s was removed from disk; it is being rebuilt": N_(
        "the index for search by keyword was removed from disk and is being rebuilt"
    ),
    "the keyword index of %(collection)s cannot be used; it is being checked": N_(
        "the index for search by keyword cannot be used and is being checked"
    ),
    "the keyword index of %(collection)s cannot be used: %(reason)s": N_(
        "the index for search by keyword cannot be used: %(reason)s"
    ),
    "the ledger is damaged: %(error)s; restore a backup with `python -m app restore`": N_(
        "restore a backup; the database says: %(error)s"
    ),
    "the vectors of %(collection)s are being written into files": N_("the vectors are being written into files"),
    "the vectors of %(collection)s cannot be used: %(reason)s; it is being checked": N_(
        "the index for search by meaning cannot be used and is being checked"
    ),
    "the vectors of %(collection)s cannot be used: %(reason)s": N_(
        "the index for search by meaning cannot be used: %(reason)s"
    ),
    "the embedding model of %(collection)s has just changed": N_("the embedding model has just changed"),
}
"""Templates whose text on pages is shorter than core's, which has ids, names of indexes and long lists for the API."""

GAPS = (
    N_("%(name)s: %(count)s of %(total)s pages have no text (%(pages)s), so nothing on them is found"),
    N_("%(name)s: 1 of %(total)s pages has no text (%(pages)s), so nothing on it is found"),
    N_("%(name)s: many pages have no text, so nothing on them is found"),
    N_("%(name)s: %(count)s of %(total)s pages have letters without meaning (%(pages)s), so little on them is found"),
    N_("%(name)s: 1 of %(total)s pages has letters without meaning (%(pages)s), so little on it is found"),
    N_("%(name)s: many pages have letters without meaning, so little on them is found"),
    N_("%(name)s: %(count)s scanned pages have not been read by machine yet"),
    N_("%(name)s: 1 scanned page has not been read by machine yet"),
    N_("%(name)s: %(count)s formulas have no stored value"),
    N_("%(name)s: 1 formula has no stored value"),
    N_("%(name)s: attachments that were not read: %(names)s"),
)
"""What of a document could not be read, in the notes of an answer that cites it."""

TEMPLATES = {text: text for text in (*GAPS, *FILES, *JOBS, *PAGES, *FOLDERS, *SEARCH, *REQUESTS)} | SHOWN
"""Each message of core, and the text that pages show for it."""
