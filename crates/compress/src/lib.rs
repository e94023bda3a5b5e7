//! zlib, LZ4 frame and ZSTD bodies behind one bounded interface
