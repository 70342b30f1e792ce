//! Tools that need no code: a call becomes an HTTP request, the answer becomes the tool's result.
//!
//! A [`Tool`] comes out of a skill's frontmatter ([`frontmatter`]) or an OpenAPI document ([`openapi`]). How its arguments
//! fill a request ([`request`]) and what becomes of the answer ([`answer`]) is pure. Only [`courier`] speaks to the
//! network, and only where [`egress`] allows it. [`BindingsServer`] puts tools behind the gate, as a server in this
//! process like any other.
//!
//! What is hard here is trust: arguments come from models, documents come from others. So nothing of an argument can
//! change where a request goes or what else is in it, and no name can lead into the operator's own network.

pub mod answer;
pub mod binding;
pub mod courier;
pub mod egress;
pub mod frontmatter;
pub mod openapi;
pub mod request;
pub mod server;
pub mod template;
pub mod tool;
pub mod url_template;

pub use binding::Binding;
pub use courier::Courier;
pub use egress::Egress;
pub use server::BindingsServer;
pub use tool::Tool;
