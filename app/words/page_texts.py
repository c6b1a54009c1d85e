"""Reasons of core in the words of pages: shorter ones, without names of indexes and without what programs are told."""

from __future__ import annotations


def N_(text: str) -> str:  # the name that Babel extracts
    """Mark a text for translation, which happens when it is shown."""
    return text


PAGE_TEXTS = {
    "no passage fits into the prompt, so the model was not asked; shorten the prompt, or raise "
    "answer_prompt_tokens (%(tokens)s)": N_(
        "no passage fits into what the model may read at once, so it was not asked"
    ),
    "the question does not fit into the prompt, and the model was given its beginning and its end; attach the long "
    "text as a file, or raise %(limit)s": N_(
        "the question is too long, and the model read only its beginning and its end; attach the long text as a file"
    ),
    "the last %(count)s of %(total)s passages do not fit into the prompt; ask for fewer, or raise %(limit)s": N_(
        "the last %(count)s of %(total)s passages are more than the model may read at once"
    ),
    "the model was given the beginning alone of %(count)s of %(total)s passages; ask for fewer, or raise %(limit)s": N_(
        "the model read only the beginning of %(count)s of the %(total)s passages"
    ),
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
    "the engine %(engine)s does not answer": N_("the index for search by meaning cannot be used and is being checked"),
    "the engine %(engine)s failed: %(reason)s": N_(
        "the index for search by meaning cannot be used and is being checked"
    ),
    "the engine %(engine)s has nothing of the vectors of %(collection)s, which are written again": N_(
        "the index for search by meaning cannot be used and is being checked"
    ),
    "the vectors of %(collection)s are being written into files": N_("the vectors are being written into files"),
    "the vectors of %(collection)s cannot be used: %(reason)s; it is being checked": N_(
        "the index for search by meaning cannot be used and is being checked"
    ),
    "the vectors of %(collection)s cannot be used: %(reason)s": N_(
        "the index for search by meaning cannot be used: %(reason)s"
    ),
    "the keyword index of %(collection)s cannot be used: %(reason)s; it is being checked": N_(
        "the index for search by keyword cannot be used and is being checked"
    ),
    "the embedding model of %(collection)s has just changed": N_("the embedding model has just changed"),
    "the title is empty; say what the text is": N_("Enter a title for the text."),
    "the text is empty; type or paste some": N_("Enter or paste some text first."),
    "the %(what)s's name %(name)s must have 1 to %(most)s characters": N_(
        "Enter a name of 1 to %(most)s visible characters."
    ),
    "the name of a user must have 1 to %(most)s visible characters, not %(name)s": N_(
        "Enter a name of 1 to %(most)s visible characters."
    ),
    "a user named %(name)s exists already; choose another name": N_("This name is taken. Choose another one."),
    "the password has %(count)s characters; %(least)s to %(most)s are needed": N_(
        "The password must be %(least)s to %(most)s characters long."
    ),
    "there are %(most)s accounts, which is the limit; ask an administrator": N_(
        "No more accounts can be created. Ask an administrator."
    ),
    "this is the last administrator; make another one first": N_(
        "This is the last administrator. Make someone else an administrator first."
    ),
    "there is nobody named '%(name)s' who can sign in; type a name as it is in the account": N_(
        "There is nobody named “%(name)s”. Type a name as it is in their account."
    ),
    "there is no group named '%(name)s' with a member; name another, or share it with a person": N_(
        "There is no group named “%(name)s” with members."
    ),
    "'%(name)s' is the owner of this %(kind)s; name another": N_("This already belongs to %(name)s."),
}
"""The template of a reason made by `braid.core.errors.internal`, and the text of pages."""
