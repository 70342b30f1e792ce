//! Which template a URI was made from (RFC 6570, read backwards).
//!
//! Only whether a URI can come from a template is asked, not what its variables were. The templates come from servers
//! and the URIs from clients, so the work is bounded by the length of both: all ways to read a URI are followed at once,
//! none is tried again.

/// The longest URI that is compared with templates, in bytes.
const MAX_URI: usize = 8 << 10;

/// A template taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
    /// How many bytes of it are fixed: the more, the better a match.
    weight: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

/// What an expression such as `{/path}` can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expression {
    /// What it begins with, where it becomes anything at all.
    first: Option<u8>,
    /// Whether it may become nothing: all its variables may be undefined.
    optional: bool,
    /// What ends it.
    stops: &'static [u8],
}

impl Template {
    /// Takes a template apart. What is no expression is taken literally, as templates of servers are not always right.
    pub(super) fn parse(template: &str) -> Template {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((literal, expression, behind)) = next_expression(rest) {
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            parts.push(Part::Expression(Expression::of(expression)));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        let weight = parts.iter().map(Part::weight).sum();
        Template { parts, weight }
    }

    /// How well the URI fits: nothing where it does not, otherwise how much of the template is fixed.
    pub(super) fn fit(&self, uri: &str) -> Option<usize> {
        let uri = uri.as_bytes();
        if uri.len() > MAX_URI {
            return None;
        }
        if let Some(Part::Literal(literal)) = self.parts.first()
            && !uri.starts_with(literal.as_bytes())
        {
            return None;
        }
        let mut reached = vec![false; uri.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            reached = part.advance(uri, &reached);
        }
        reached.last().copied().unwrap_or(false).then_some(self.weight)
    }
}

impl Part {
    fn weight(&self) -> usize {
        match self {
            Part::Literal(literal) => literal.len(),
            Part::Expression(_) => 0,
        }
    }

    /// From the places that were reached before this part to those that are reached behind it.
    fn advance(&self, uri: &[u8], before: &[bool]) -> Vec<bool> {
        match self {
            Part::Literal(literal) => {
                let mut behind = vec![false; before.len()];
                for place in (0..uri.len()).filter(|place| before[*place]) {
                    if uri[place..].starts_with(literal.as_bytes()) {
                        behind[place + literal.len()] = true;
                    }
                }
                behind
            }
            Part::Expression(expression) => expression.advance(uri, before),
        }
    }
}

impl Expression {
    fn of(inside: &str) -> Expression {
        let optional = |first, stops| Expression { first: Some(first), optional: true, stops };
        match inside.as_bytes().first() {
            Some(b'+') => Expression { first: None, optional: false, stops: b"" },
            Some(b'#') => optional(b'#', b""),
            Some(b'.') => optional(b'.', b"/?#"),
            Some(b'/') => optional(b'/', b"?#"),
            Some(b';') => optional(b';', b"/?#"),
            Some(b'?') => optional(b'?', b"#"),
            Some(b'&') => optional(b'&', b"#"),
            _ => Expression { first: None, optional: false, stops: b"/?#" },
        }
    }

    fn advance(self, uri: &[u8], before: &[bool]) -> Vec<bool> {
        let mut behind = vec![false; before.len()];
        // Whether a way of reading that began earlier is still inside the expression.
        let mut inside = false;
        for place in 0..before.len() {
            behind[place] = inside || (self.optional && before[place]);
            let Some(byte) = uri.get(place) else { break };
            let continues = inside && !self.stops.contains(byte);
            let begins =
                before[place] && self.first.map_or(!self.stops.contains(byte), |first| first == *byte);
            inside = continues || begins;
        }
        behind
    }
}

/// The text before the next expression, the inside of the expression, and the text behind it.
fn next_expression(template: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = template.split_once('{')?;
    let (inside, behind) = rest.split_once('}')?;
    Some((literal, inside, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: bool) {
        assert_eq!(Template::parse(template).fit(uri).is_some(), expected, "{template} and {uri}");
    }

    #[test]
    fn what_a_template_can_become() {
        check("file:///{name}", "file:///a", true);
        check("file:///{name}", "file:///", false);
        check("file:///{name}", "file:///a/b", false);
        check("file:///{name}", "http:///a", false);
        check("file:///{+path}", "file:///a/b?c#d", true);
        check("file://{/path*}", "file:///a/b", true);
        check("file://{/path*}", "file://", true);
        check("db://{table}/{row}", "db://users/1", true);
        check("db://{table}/{row}", "db://users", false);
        check("db://{table}/row", "db://users/rows", false);
        check("search://x{?q,page}", "search://x?q=1&page=2", true);
        check("search://x{?q,page}", "search://x", true);
        check("search://x?fixed=1{&q}", "search://x?fixed=1&q=2", true);
        check("search://x?fixed=1{&q}", "search://x?fixed=1q=2", false);
        check("doc://{name}{.ext}", "doc://a.b.md", true);
        check("doc://a{#part}", "doc://a#b", true);
        check("doc://a{;lang}", "doc://a;lang=de", true);
        check("doc://{broken", "doc://{broken", true);
        check("doc://{broken", "doc://broken", false);
        check("doc://{ä}/ö", "doc://ü/ö", true);
        check("", "", true);
        check("", "a", false);
    }

    #[test]
    fn the_more_fixed_a_template_the_better_it_fits() {
        let loose = Template::parse("{+anything}").fit("db://users/1");
        let close = Template::parse("db://users/{row}").fit("db://users/1");
        assert!(loose < close);
    }

    #[test]
    fn a_long_uri_and_a_nasty_template_end_soon() {
        let template = Template::parse(&"{+a}x".repeat(200));
        let uri = "x".repeat(MAX_URI - 1) + "y";
        assert_eq!(template.fit(&uri), None);
        assert_eq!(Template::parse("{+a}").fit(&"x".repeat(MAX_URI + 1)), None);
    }
}
