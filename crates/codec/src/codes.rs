//! Request codes, response codes, languages and versions.
