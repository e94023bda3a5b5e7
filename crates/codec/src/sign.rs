//! ACL signing.
