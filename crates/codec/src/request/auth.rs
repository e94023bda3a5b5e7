//! Users and access policies (wire 4.14).

use crate::header::macros::{header, request};
use crate::reply::NoFields;

header! {
    /// Creates the user in the body (wire 4.14).
    pub struct CreateUser<'a>: "CreateUserRequestHeader";
    /// The user.
    username: text optional = "username",
}

header! {
    /// Changes the user in the body (wire 4.14).
    pub struct UpdateUser<'a>: "UpdateUserRequestHeader";
    /// The user.
    username: text optional = "username",
}

header! {
    /// Deletes a user (wire 4.14).
    pub struct DeleteUser<'a>: "DeleteUserRequestHeader";
    /// The user.
    username: text optional = "username",
}

header! {
    /// Reads a user (wire 4.14).
    pub struct GetUser<'a>: "GetUserRequestHeader";
    /// The user.
    username: text optional = "username",
}

header! {
    /// Lists users (wire 4.14).
    pub struct ListUsers<'a>: "ListUsersRequestHeader";
    /// Only users whose name contains this.
    filter: text optional = "filter",
}

header! {
    /// Creates an access policy (wire 4.14).
    pub struct CreateAcl<'a>: "CreateAclRequestHeader";
    /// The subject, such as `User:name`.
    subject: text optional = "subject",
}

header! {
    /// Changes an access policy (wire 4.14).
    pub struct UpdateAcl<'a>: "UpdateAclRequestHeader";
    /// The subject, such as `User:name`.
    subject: text optional = "subject",
}

header! {
    /// Deletes an access policy (wire 4.14).
    pub struct DeleteAcl<'a>: "DeleteAclRequestHeader";
    /// The subject, such as `User:name`.
    subject: text optional = "subject",
    /// The type of the policy.
    policy_type: text optional = "policyType",
    /// The resource, such as `Topic:name`.
    resource: text optional = "resource",
}

header! {
    /// Reads an access policy (wire 4.14).
    pub struct GetAcl<'a>: "GetAclRequestHeader";
    /// The subject, such as `User:name`.
    subject: text optional = "subject",
}

header! {
    /// Lists access policies (wire 4.14).
    pub struct ListAcls<'a>: "ListAclsRequestHeader";
    /// Only subjects that contain this.
    subject_filter: text optional = "subjectFilter",
    /// Only resources that contain this.
    resource_filter: text optional = "resourceFilter",
}

request!(CreateUser<'_>, AUTH_CREATE_USER, NoFields);
request!(UpdateUser<'_>, AUTH_UPDATE_USER, NoFields);
request!(DeleteUser<'_>, AUTH_DELETE_USER, NoFields);
request!(GetUser<'_>, AUTH_GET_USER, NoFields);
request!(ListUsers<'_>, AUTH_LIST_USER, NoFields);
request!(CreateAcl<'_>, AUTH_CREATE_ACL, NoFields);
request!(UpdateAcl<'_>, AUTH_UPDATE_ACL, NoFields);
request!(DeleteAcl<'_>, AUTH_DELETE_ACL, NoFields);
request!(GetAcl<'_>, AUTH_GET_ACL, NoFields);
request!(ListAcls<'_>, AUTH_LIST_ACL, NoFields);
