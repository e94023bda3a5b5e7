//! Names of topics and groups: rules and reserved spellings.
