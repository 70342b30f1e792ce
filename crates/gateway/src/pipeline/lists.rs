//! `tools/list` and its kin: answered from prepared bytes.

use std::sync::Arc;

use toolgate_governance::{ApprovalShown, Narrowing, Standing, Subject};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method};

use crate::catalog::{InvalidCursor, Item, Kind, Lens, Page, View};
use crate::gateway::Gateway;
use crate::pipeline::{Outcome, kept};
use crate::published::Published;
use crate::relay::Last;
use crate::results;
use crate::session::Client;

/// One page of a list.
pub async fn page(
    gateway: &Arc<Gateway>,
    client: &Client,
    narrowing: Option<&Narrowing>,
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
    let standing = gateway.gate.standing(client.principal());
    let page = cut(&published, &standing, narrowing, kind, cursor.as_deref())
        .map_err(|error| ErrorReply::new(Code::InvalidParams, error.to_string()))?;
    let answer = page.answer(message.id().unwrap_or(b"null"), client.era());
    Ok(Outcome::Answer(Last::plain(answer, None)))
}

/// Whether a client finds a tool in its list.
pub fn is_visible(gateway: &Gateway, client: &Client, tool: &Item) -> bool {
    gateway.gate.standing(client.principal()).is_visible(&subject(Kind::Tool, tool), None)
}

/// A page as a caller sees it: of lists that are prepared once for all who see the same, or of one that is made for this
/// request, because it leaves something out, and forgotten with it.
fn cut(
    published: &Published,
    standing: &Standing,
    narrowing: Option<&Narrowing>,
    kind: Kind,
    cursor: Option<&str>,
) -> Result<Page, InvalidCursor> {
    match narrowing {
        None => view(published, standing).page(kind, cursor),
        Some(_) => {
            through_lens(published, standing, narrowing, |lens| published.catalog.page(kind, cursor, lens))
        }
    }
}

/// The lists of a caller, which are prepared once for all who see the same.
fn view(published: &Published, standing: &Standing) -> Arc<View> {
    through_lens(published, standing, None, |lens| published.view(standing.visibility_class(), lens))
}

fn through_lens<T>(
    published: &Published,
    standing: &Standing,
    narrowing: Option<&Narrowing>,
    look: impl FnOnce(&Lens<'_>) -> T,
) -> T {
    look(&Lens {
        visible: &|kind: Kind, item: &Item| standing.is_visible(&subject(kind, item), narrowing),
        decorate: &|item: &Item| terms(published, standing, item),
        for_everyone: false,
        server_info: None,
        own_template: published.keeps_results.then_some((results::TEMPLATE, kept::TEMPLATE)),
    })
}

/// Whether a list of a caller was another one under an earlier catalogue or earlier rules.
pub fn has_changed(before: (&Published, &Standing), now: (&Published, &Standing), kind: Kind) -> bool {
    !view(before.0, before.1).is_same(&view(now.0, now.1), kind)
}

/// Whether a caller sees anything of a kind that a server has.
pub fn shows(published: &Published, standing: &Standing, kind: Kind, server: &str) -> bool {
    let of_server = published.catalog.items(kind).iter().filter(|item| **item.server_name() == *server);
    of_server.into_iter().any(|item| standing.is_visible(&subject(kind, item), None))
}

/// An item of the catalogue as policy names it.
pub fn subject(kind: Kind, item: &Item) -> Subject<'_> {
    let kind = match kind {
        Kind::Tool => toolgate_governance::Kind::Tool,
        Kind::Prompt => toolgate_governance::Kind::Prompt,
        Kind::Resource | Kind::Template | Kind::Skill => toolgate_governance::Kind::Resource,
    };
    Subject { kind, server: item.server_name(), name: item.native(), exposed: item.exposed() }
}

/// What is shown with a tool of the rules for it: price, limits, approval.
fn terms(published: &Published, standing: &Standing, item: &Item) -> Option<String> {
    let declared = published.tool(item.exposed_name()).and_then(|tool| tool.target.declared_price);
    let terms = standing.terms_of_use(&subject(Kind::Tool, item), declared);
    if terms.price.is_none() && terms.limits.is_empty() && terms.approval == ApprovalShown::Never {
        return None;
    }
    let json = serde_json::to_string(&terms).ok()?;
    Some(format!(r#""io.toolgate/terms":{json}"#))
}
