//! Frames: one request or response, header and body.
