//! `resources/read` of a result that was too long to pass on.
//!
//! Who called the tool may read what it gave, for as long as the tool can be seen; for all others the address is one
//! that nobody knows. Reads count and are recorded as those of any resource of the tool's server, under one name.

use std::sync::Arc;

use serde_json::json;
use toolgate_governance::{Kind, Narrowing};
use toolgate_ledger::Status;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, Era, ErrorReply, Message, Method, era, error};

use crate::enforce::closing::{Closing, Ended};
use crate::enforce::quota_headers::quota_headers;
use crate::enforce::{self, refuse};
use crate::gateway::Gateway;
use crate::greeting::IDENTITY;
use crate::pipeline::Outcome;
use crate::relay::{Last, output};
use crate::results::{self, Address, Kept, Part};
use crate::router::Target;
use crate::session::Client;

/// The template in lists.
pub const TEMPLATE: &str = r#"{"uriTemplate":"result://{id}{?offset,length}","name":"long results","description":"Results of tools that were too long to be passed on whole. The answer of the tool names the id; offset and length are in bytes."}"#;

/// Reads a part of a kept result; nothing where the request names no result of this caller.
pub async fn read(
    gateway: &Arc<Gateway>,
    client: &Client,
    narrowing: Option<&Narrowing>,
    message: &Message,
) -> Option<Result<Outcome, ErrorReply>> {
    let uri = message.field_text(Field::Uri).filter(|_| message.method() == Some(Method::ResourcesRead))?;
    let address = Address::of(&uri)?;
    let principal = client.principal();
    let kept = gateway.results.find(address.id, &principal.id)?;
    if !enforce::is_visible(&gateway.gate, principal, narrowing, kept.tool()) {
        return None;
    }
    let range = match address.range(kept.size()) {
        Ok(range) => range,
        Err(error) => return Some(Err(ErrorReply::new(Code::InvalidParams, error.to_string()))),
    };
    let target = Arc::new(Target {
        kind: Kind::Resource,
        server: Arc::clone(&kept.tool().server),
        exposed: kept.uri().into(),
        // The same for all, so that each id is no thing of its own to count.
        native: results::SCHEME.into(),
        declared_price: None,
    });
    let closing = match enforce::owner(&gateway.gate, client, &target, message) {
        Ok(closing) => closing,
        Err(stopped) => return Some(Ok(Outcome::Answer(stopped.answer(message.id(), client.era())))),
    };
    let reading = Arc::clone(&kept);
    let part = tokio::task::spawn_blocking(move || reading.read(range)).await;
    Some(match part {
        Ok(Ok(part)) => answer(client, message, closing, &kept, &uri, &part),
        failed => {
            tracing::error!(?failed, uri = kept.uri(), "a kept result cannot be read");
            Err(gone(closing, &target, client.era()))
        }
    })
}

fn answer(
    client: &Client,
    message: &Message,
    mut closing: Closing,
    kept: &Kept,
    uri: &str,
    part: &Part,
) -> Result<Outcome, ErrorReply> {
    let next = (part.end < kept.size()).then(|| format!("{}?offset={}", kept.uri(), part.end));
    let range = json!({"offset": part.offset, "end": part.end, "size": kept.size(), "next": next});
    let content = json!({"uri": uri, "mimeType": kept.media(), "text": part.text,
        "_meta": {"io.toolgate/range": range}});
    let result = json!({"contents": [content]}).to_string().into_bytes();
    let ended = Ended { status: Status::Ok, error_code: None, body: Some(&result) };
    let remaining = closing.close(ended).map_err(refuse::withheld)?;
    let id = message.id().unwrap_or(b"null");
    let answer = error::result_answer(id, &result);
    let bytes = era::answer::own(answer, Method::ResourcesRead, client.era(), IDENTITY);
    let bytes = output::with_quotas(bytes, &remaining);
    Ok(Outcome::Answer(Last { bytes, code: None, headers: quota_headers(&remaining) }))
}

/// The file is not there, or damaged: to the client it is as if its time were over.
fn gone(mut closing: Closing, target: &Target, era: Era) -> ErrorReply {
    let reply = refuse::unknown(Kind::Resource, &target.exposed);
    let body = reply.object(era);
    let ended = Ended {
        status: Status::Error,
        error_code: Some(reply.code.number(era)),
        body: Some(body.as_bytes()),
    };
    match closing.close(ended) {
        Ok(_) => reply,
        Err(unrecorded) => refuse::withheld(unrecorded),
    }
}
