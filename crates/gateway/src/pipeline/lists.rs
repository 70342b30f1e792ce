//! `tools/list` and its kin: answered from prepared bytes.

use std::sync::Arc;

use toolgate_governance::{ApprovalShown, Standing, Subject};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method};

use crate::catalog::{Item, Kind, Lens, View};
use crate::gateway::Gateway;
use crate::pipeline::Outcome;
use crate::published::Published;
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
    let page = view(gateway, &published, client)
        .page(kind, cursor.as_deref())
        .map_err(|error| ErrorReply::new(Code::InvalidParams, error.to_string()))?;
    Ok(Outcome::Answer(page.answer(message.id().unwrap_or(b"null"), client.era()), None))
}

/// Whether a client finds a tool in its list.
pub fn is_visible(gateway: &Gateway, client: &Client, tool: &Item) -> bool {
    gateway.gate.standing(client.principal()).is_visible(&subject(Kind::Tool, tool), None)
}

/// The lists as this client sees them: prepared once for all clients that see the same.
fn view(gateway: &Gateway, published: &Published, client: &Client) -> Arc<View> {
    let standing = gateway.gate.standing(client.principal());
    let visible = |kind: Kind, item: &Item| standing.is_visible(&subject(kind, item), None);
    let decorate = |item: &Item| terms(&standing, item);
    let lens = Lens { visible: &visible, decorate: &decorate, for_everyone: false, server_info: None };
    published.view(standing.visibility_class(), &lens)
}

fn subject(kind: Kind, item: &Item) -> Subject<'_> {
    let kind = match kind {
        Kind::Tool => toolgate_governance::Kind::Tool,
        Kind::Prompt => toolgate_governance::Kind::Prompt,
        Kind::Resource | Kind::Template | Kind::Skill => toolgate_governance::Kind::Resource,
    };
    Subject { kind, server: item.server_name(), name: item.native(), exposed: item.exposed() }
}

/// What is shown with a tool of the rules for it: price, limits, approval.
fn terms(standing: &Standing, item: &Item) -> Option<String> {
    let terms = standing.terms_of_use(&subject(Kind::Tool, item));
    if terms.price.is_none() && terms.limits.is_empty() && terms.approval == ApprovalShown::Never {
        return None;
    }
    let json = serde_json::to_string(&terms).ok()?;
    Some(format!(r#""io.toolgate/terms":{json}"#))
}
