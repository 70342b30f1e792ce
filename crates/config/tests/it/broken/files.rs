//! Files that are broken, and what is said of each: line and column, path, what is wrong, what would be right.

/// The text of a `toolgate.yaml`, and what is said of it, one problem a line.
pub(crate) type Broken = (&'static str, &'static str);

/// Keys that do not exist.
pub(crate) const UNKNOWN_KEYS: &[Broken] = &[
    ("lisen:\n  port: 1\n", "1:1 lisen: unknown key `lisen` (did you mean `listen`?)"),
    ("listen:\n  prot: 80\n", "2:3 listen.prot: unknown key `prot` (did you mean `port`?)"),
    (
        "servers:\n  a:\n    comand: x\n    url: http://a/\n",
        "3:5 servers.a.comand: unknown key `comand` (did you mean `command`?)",
    ),
    (
        "servers:\n  a: {command: x, callTimeout: 5s}\n",
        "2:19 servers.a.callTimeout: unknown key `callTimeout` (did you mean `call_timeout`?)",
    ),
    ("log: {colour: red}\n", "1:7 log.colour: unknown key `colour` (known here: level, format)"),
    (
        "policy:\n  rules:\n    - effect: allow\n      tool: [x]\n",
        "4:7 policy.rules[0].tool: unknown key `tool` (did you mean `tools`?)",
    ),
];

/// Values of the wrong kind.
pub(crate) const WRONG_KINDS: &[Broken] = &[
    ("listen: 8080\n", "1:9 listen: expected a mapping, found a number"),
    ("listen:\n  port: many\n", "2:9 listen.port: expected a whole number, found `many`"),
    ("listen:\n  port: 70000\n", "2:9 listen.port: 70000 is out of range (it must be from 0 to 65535)"),
    ("listen:\n  port: 80.5\n", "2:9 listen.port: expected a whole number, found a number"),
    ("runtime: {auto_reload: maybe}\n", "1:24 runtime.auto_reload: expected true or false, found `maybe`"),
    (
        "servers:\n  a:\n    command: x\n    args: -y\n",
        "4:11 servers.a.args: expected a list, found `-y` (write `[…]`, or one line with `- ` for each)",
    ),
    ("servers:\n  a:\n    command: [x, y]\n", "3:14 servers.a.command: expected text, found a list"),
    ("servers: [a, b]\n", "1:10 servers: expected a mapping of names to servers, found a list"),
    ("- a\n- b\n", "1:1 : the file must hold a mapping, not a list"),
    (
        "prices:\n  tools:\n    - price: -1\n",
        "3:14 prices.tools[0].price: -1 is out of range (it must be at least 0)",
    ),
];

/// Words, times and sizes that are none.
pub(crate) const WRONG_WORDS: &[Broken] = &[
    (
        "listen: {transport: htp}\n",
        "1:21 listen.transport: `htp` is not known here (did you mean `http`? one of stdio, http)",
    ),
    ("names: camel\n", "1:8 names: `camel` is not known here (one of prefixed, plain, mcp)"),
    (
        "servers:\n  a:\n    command: x\n    call_timeout: soon\n",
        "4:19 servers.a.call_timeout: `soon` is not a length of time; write for example 30s, 500ms, 5m, 2h or 7d",
    ),
    (
        "runtime:\n  call_timeout: -5\n",
        "2:17 runtime.call_timeout: `-5` is not a length of time; write for example 30s, 500ms, 5m, 2h or 7d",
    ),
    (
        "listen:\n  max_body_bytes: 10 elephants\n",
        "2:19 listen.max_body_bytes: `10 elephants` is not an amount of bytes; \
         write for example 65536, 64KB, 10MB or 1GB",
    ),
];

/// Servers that lack something, or have too much.
pub(crate) const INCOMPLETE_SERVERS: &[Broken] = &[
    (
        "servers:\n  a:\n    enabled: true\n",
        "2:3 servers.a: neither `command` nor `url` (say what to start, or where to connect)",
    ),
    ("servers:\n  a:\n", "2:3 servers.a: this server has no record (give a command or a url)"),
    (
        "servers:\n  a:\n    transport: stdio\n    url: http://x/\n",
        "2:3 servers.a: a stdio server needs a `command` (the program that starts it)",
    ),
    ("servers:\n  a:\n    transport: sse\n", "2:3 servers.a: a server with `transport: sse` needs a `url`"),
    (
        "servers:\n  a:\n    command: x\n    url: http://x/\n",
        "4:10 servers.a.url: a server has a `command` or a `url`, not both \
         (remove one, or split it in two servers)",
    ),
    (
        "servers:\n  a:\n    url: ws://x/\n",
        "3:10 servers.a.url: only http:// and https:// are spoken (write it like https://host/mcp)",
    ),
    (
        "servers:\n  a:\n    url: example.com\n",
        "3:10 servers.a.url: this is no address (write it like https://host/mcp)",
    ),
    (
        "servers:\n  \"a b\":\n    command: x\n",
        "2:3 servers.\"a b\": `a b` cannot be the name of a server \
         (use letters, digits, `-`, `_` and `.`, at most 64)",
    ),
    (
        "servers:\n  a:\n    command: x\n    max_concurrency: 0\n",
        "4:22 servers.a.max_concurrency: 0 would stop every call (leave it out for the default)",
    ),
    (
        "servers:\n  a:\n    command: x\n    allowed_tools: [\"\"]\n",
        "4:20 servers.a.allowed_tools: an empty pattern matches nothing (use `*` for all tools)",
    ),
];

/// Rules and limits that make no sense.
pub(crate) const SENSELESS_RULES: &[Broken] = &[
    ("policy:\n  rules:\n    - tools: [x]\n", "3:7 policy.rules[0]: `effect` is missing (it is required)"),
    (
        "policy:\n  rules:\n    - {id: a, effect: allow}\n    - {id: a, effect: deny}\n",
        "4:12 policy.rules[1].id: `a` is used twice \
         (refusals name the rule by its id, so it must be one rule's alone)",
    ),
    (
        "quotas:\n  - per: caller\n",
        "2:5 quotas[0]: this quota limits nothing (give one of budget_per_month, max_per_call, calls_per_minute, \
         calls_per_day, reads_per_minute, concurrency)",
    ),
    (
        "callers:\n  jwt:\n    - {issuer: i, audience: a}\n",
        "3:7 callers.jwt[0]: the issuer's keys are not clear (give exactly one of jwks_file and jwks_url)",
    ),
    (
        "listen:\n  tls: {cert_file: c, key_file: k, verify_client: true}\n",
        "2:8 listen.tls: clients cannot be verified without an authority (give client_ca_file)",
    ),
    (
        "listen: {session_key: short}\n",
        "1:23 listen.session_key: a key of less than 32 characters can be guessed \
         (make one with `openssl rand -base64 32` and refer to it: ${ENV:NAME} or ${file:…})",
    ),
    (
        "admin: {listen: nowhere}\n",
        "1:17 admin.listen: `nowhere` is neither HOST:PORT nor a path (write 127.0.0.1:9090 or /admin)",
    ),
    (
        "ledger: {alert_webhook: mailto:me}\n",
        "1:25 ledger.alert_webhook: this is no http address (write it like https://host/path)",
    ),
];

/// Many problems in one file.
pub(crate) const SEVERAL_AT_ONCE: &[Broken] = &[(
    "lisen: 1\nlog:\n  level: loud\nservers:\n  a: {}\n  b: {url: x}\nquotas:\n  - {}\n",
    "1:1 lisen: unknown key `lisen` (did you mean `listen`?)\n\
         3:10 log.level: `loud` is not known here (one of error, warn, info, debug, trace)\n\
         5:3 servers.a: neither `command` nor `url` (say what to start, or where to connect)\n\
         6:12 servers.b.url: this is no address (write it like https://host/mcp)\n\
         8:5 quotas[0]: this quota limits nothing (give one of budget_per_month, max_per_call, calls_per_minute, \
         calls_per_day, reads_per_minute, concurrency)",
)];

/// All of them.
pub(crate) const ALL: [&[Broken]; 6] =
    [UNKNOWN_KEYS, WRONG_KINDS, WRONG_WORDS, INCOMPLETE_SERVERS, SENSELESS_RULES, SEVERAL_AT_ONCE];
