//! The description of a request: what is fixed, and where arguments go.

use std::time::Duration;

use http::{HeaderName, Method};
use serde_json::Value;
use toolgate_config::Secret;

use crate::template::{Arguments, BadTemplate, Template};
use crate::url_template::UrlTemplate;

/// How long a call takes at most where nothing is said.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that may be said.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);
/// How often a request is repeated at most.
pub const MOST_RETRIES: u32 = 5;

/// A request with places for arguments, and what becomes of the answer.
#[derive(Clone, Debug)]
pub struct Binding {
    /// One of those in [`METHODS`].
    pub method: Method,
    /// Where it goes.
    pub url: UrlTemplate,
    /// Parameters of the query, besides those of the address.
    pub query: Vec<Parameter>,
    /// Headers whose values arguments give.
    pub headers: Vec<(HeaderName, Template)>,
    /// Headers with fixed values, which may be secret. They count more than those of arguments.
    pub fixed_headers: Vec<(HeaderName, Secret)>,
    /// Parameters of the query with secret values.
    pub fixed_query: Vec<(String, Secret)>,
    /// Cookies with secret values, and those that arguments give.
    pub fixed_cookies: Vec<(String, Secret)>,
    /// Cookies whose values arguments give.
    pub cookies: Vec<(String, Template)>,
    /// What is sent with it.
    pub body: Option<Body>,
    /// Values of arguments that a call leaves out.
    pub defaults: Arguments,
    /// Which part of a JSON answer is the result, as a JSON pointer; empty for all of it.
    pub result: String,
    /// How long a call takes at most, repetitions included.
    pub timeout: Duration,
    /// How often it is sent again when no answer comes. Only for what can be done twice without harm.
    pub retries: u32,
}

/// The methods that tools may use. `HEAD` and others answer without content, so they are of no use to a model.
pub const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// A parameter of a query.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value; it is left out where the argument is absent.
    pub value: Template,
    /// How a list or an object is written.
    pub style: Style,
}

/// How a list or an object is written in a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// `name=1&name=2`. An object cannot be written so.
    #[default]
    Repeated,
    /// The same, but the members of an object are parameters of their own, unless the request has such parameters already.
    Members,
    /// As JSON, whatever it is.
    Json,
    /// `name=1,2`, with this sign in between.
    Joined(char),
    /// `name[member]=1`.
    Deep,
}

/// What is sent with a request.
#[derive(Clone, Debug)]
pub enum Body {
    /// As `application/json`.
    Json(Shape),
    /// As JSON under another name, such as `application/merge-patch+json`.
    JsonAs(String, Shape),
    /// As `application/x-www-form-urlencoded`; the value is an object.
    Form(Shape),
    /// As `multipart/form-data`, of texts only; the value is an object.
    Multipart(Shape),
    /// The same, where these fields are files; their values are base64.
    Files(Vec<String>, Shape),
    /// As `text/plain`.
    Text(Shape),
    /// As `application/octet-stream`; the value is base64.
    Bytes(Shape),
}

/// Makes a body of one kind.
pub(crate) type BodyKind = fn(Shape) -> Body;

/// A JSON value with templates for texts.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A text with places for arguments.
    Filled(Template),
    /// A value without any.
    Fixed(Value),
    /// A list.
    Items(Vec<Shape>),
    /// An object. Members whose arguments are absent are left out.
    Members(Vec<(String, Shape)>),
}

impl Body {
    /// Its value.
    pub fn shape(&self) -> &Shape {
        match self {
            Body::Json(shape) | Body::Form(shape) | Body::Multipart(shape) => shape,
            Body::JsonAs(_, shape) | Body::Files(_, shape) => shape,
            Body::Text(shape) | Body::Bytes(shape) => shape,
        }
    }
}

impl Shape {
    /// Reads a value in which every text is a template.
    pub fn parse(value: &Value) -> Result<Shape, BadTemplate> {
        Ok(match value {
            Value::String(text) => Shape::Filled(Template::parse(text)?),
            Value::Array(items) => Shape::Items(items.iter().map(Shape::parse).collect::<Result<_, _>>()?),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| Ok((name.clone(), Shape::parse(value)?)));
                Shape::Members(members.collect::<Result<_, BadTemplate>>()?)
            }
            other => Shape::Fixed(other.clone()),
        })
    }

    /// The value with its arguments; nothing where it is an absent argument.
    pub fn fill(&self, arguments: &Arguments) -> Option<Value> {
        match self {
            Shape::Filled(template) => template.value(arguments),
            Shape::Fixed(value) => Some(value.clone()),
            Shape::Items(items) => Some(items.iter().filter_map(|item| item.fill(arguments)).collect()),
            Shape::Members(members) => {
                let filled =
                    members.iter().filter_map(|(name, shape)| Some((name.clone(), shape.fill(arguments)?)));
                Some(Value::Object(filled.collect()))
            }
        }
    }

    /// The names of all arguments in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Shape::Filled(template) => template.names().collect(),
            Shape::Fixed(_) => Vec::new(),
            Shape::Items(items) => items.iter().flat_map(Shape::names).collect(),
            Shape::Members(members) => members.iter().flat_map(|(_, shape)| shape.names()).collect(),
        }
    }
}

impl Binding {
    /// A plain request to this address.
    pub fn new(method: Method, url: UrlTemplate) -> Binding {
        Binding {
            method,
            url,
            query: Vec::new(),
            headers: Vec::new(),
            fixed_headers: Vec::new(),
            fixed_query: Vec::new(),
            fixed_cookies: Vec::new(),
            cookies: Vec::new(),
            body: None,
            defaults: Arguments::new(),
            result: String::new(),
            timeout: USUAL_TIMEOUT,
            retries: 0,
        }
    }

    /// The names of all arguments it uses.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let query = self.query.iter().flat_map(|parameter| parameter.value.names());
        let headers = self.headers.iter().flat_map(|(_, value)| value.names());
        let cookies = self.cookies.iter().flat_map(|(_, value)| value.names());
        let body = self.body.iter().flat_map(|body| body.shape().names());
        self.url.names().chain(query).chain(headers).chain(cookies).chain(body)
    }
}

/// Takes the defaults of arguments out of the schema of a tool's input.
pub fn defaults_of(input_schema: &Value) -> Arguments {
    let properties = input_schema.get("properties").and_then(Value::as_object);
    let stated = properties.into_iter().flatten();
    stated.filter_map(|(name, schema)| Some((name.clone(), schema.get("default")?.clone()))).collect()
}
