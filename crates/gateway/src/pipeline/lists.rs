//! `tools/list` and its kin: answered from prepared bytes.

use std::sync::Arc;

use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method};

use crate::catalog::Kind;
use crate::gateway::Gateway;
use crate::pipeline::Outcome;
use crate::session::Client;

/// One page of a list.
pub async fn page(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    method: Method,
) -> Result<Outcome, ErrorReply> {
    let kind = Kind::listed_by(method)
        .ok_or_else(|| ErrorReply::new(Code::MethodNotFound, "this method lists nothing"))?;
    gateway.fleet.settle(gateway.settings.start_patience).await;
    let cursor = match message.field(Field::Cursor) {
        None | Some(b"null") => None,
        Some(_) => Some(
            message
                .field_text(Field::Cursor)
                .ok_or_else(|| ErrorReply::new(Code::InvalidParams, "'params.cursor' must be a string"))?,
        ),
    };
    let published = gateway.published();
    let page = published
        .view()
        .page(kind, cursor.as_deref())
        .map_err(|error| ErrorReply::new(Code::InvalidParams, error.to_string()))?;
    Ok(Outcome::Answer(page.answer(message.id().unwrap_or(b"null"), client.era()), None))
}
