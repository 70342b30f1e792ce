//! Configuration as people meet it: files in, a configuration or good advice out.

mod scene;
mod seeds;
