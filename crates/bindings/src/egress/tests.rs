use proptest::prelude::*;

use super::*;

fn patterns(texts: &[&str]) -> Vec<HostPattern> {
    texts.iter().map(|text| HostPattern::parse(text).unwrap()).collect()
}

#[test]
fn only_public_addresses_are_public() {
    let check = |text: &str, expected: bool| {
        assert_eq!(address::is_public(text.parse().unwrap()), expected, "{text}");
    };
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "172.15.255.255",
        "172.32.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "192.169.0.1",
        "223.255.255.255",
        "169.253.1.1",
        "168.63.129.17",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2001:200::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ] {
        check(public, true);
    }
    for private in [
        // Version 4: this network, private, carrier, loopback, link-local and metadata, documentation, tests.
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "168.63.129.16",
        // Multicast, reserved, broadcast.
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        // Version 6: nothing, loopback, link-local, private, metadata, multicast, documentation, old site-local.
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "3fff::1",
        "fec0::1",
        // One address inside of another.
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::1",
        "2001:0:7f00:1::1",
        "100::1",
    ] {
        check(private, false);
    }
}

#[test]
fn hosts_are_allowed_by_name_and_port() {
    let egress = Egress {
        allow: patterns(&[
            "api.example.com",
            "*.shop.example:8443",
            "any.example:*",
            "Bücher.example",
            "8.8.8.8",
        ]),
        private: patterns(&["localhost:3000", "[::1]:3000", "10.0.0.7", "127.0.0.1:*"]),
        ..Egress::default()
    };
    let check = |url: &str, expected: Option<Reach>| {
        let reached = egress.reach(&Url::parse(url).unwrap());
        assert_eq!(reached.ok(), expected, "{url}");
    };
    check("https://api.example.com/x", Some(Reach::Public));
    check("http://API.example.com./x", Some(Reach::Public));
    check("https://api.example.com:444/x", None);
    check("http://api.example.com:443/x", None);
    check("https://evil-api.example.com/", None);
    check("https://api.example.com.evil/", None);
    check("https://a.b.shop.example:8443/", Some(Reach::Public));
    check("https://shop.example:8443/", None);
    check("https://evilshop.example:8443/", None);
    check("https://a.shop.example/", None);
    check("http://any.example:1/", Some(Reach::Public));
    check("https://xn--bcher-kva.example/", Some(Reach::Public));
    check("http://134744072/", Some(Reach::Public));
    check("http://localhost:3000/", Some(Reach::Anywhere));
    check("http://localhost/", None);
    check("http://[::1]:3000/", Some(Reach::Anywhere));
    check("http://10.0.0.7/", Some(Reach::Anywhere));
    // All of these are 127.0.0.1.
    for host in ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1"] {
        check(&format!("http://{host}:9/"), Some(Reach::Anywhere));
    }
    check("ftp://api.example.com/", None);
    assert!(Egress::default().is_closed());
    assert!(Egress::default().reach(&Url::parse("https://api.example.com").unwrap()).is_err());
}

#[test]
fn what_names_no_host_is_refused() {
    for text in
        ["", "*.", "a*b", "*.*", "a b", "host:", "host:99999", "host:x", "https://host", "host/path", ":80"]
    {
        assert!(HostPattern::parse(text).is_err(), "{text}");
    }
}

/// What the rules make of an address written in any way, when everything public is allowed.
async fn judged(url: &str) -> Result<Vec<SocketAddr>, Denied> {
    let egress = Egress { allow: patterns(&["*:*"]), ..Egress::default() };
    egress.addresses(&Url::parse(url).unwrap(), look_up).await
}

#[tokio::test]
async fn no_way_to_write_an_address_hides_it() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0",
        "localhost",
        "localhost.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "①②⑦.⓪.⓪.①",
        "2852039166",
        "169.254.169.254",
        "0xa9fea9fe",
        "[fd00:ec2::254]",
    ] {
        let denied = judged(&format!("http://{host}/latest/meta-data")).await;
        assert!(matches!(denied, Err(Denied::Private(_) | Denied::Unknown { .. })), "{host}: {denied:?}");
    }
    assert_eq!(judged("https://8.8.8.8/").await.unwrap(), ["8.8.8.8:443".parse().unwrap()]);
}

#[test]
fn of_many_addresses_only_the_good_ones_are_used() {
    let egress =
        Egress { allow: patterns(&["h.example"]), private: patterns(&["own.example"]), ..Egress::default() };
    let found: Vec<SocketAddr> =
        ["10.0.0.1:443", "8.8.8.8:443", "[::1]:443"].map(|text| text.parse().unwrap()).to_vec();
    let url = |text: &str| Url::parse(text).unwrap();
    assert_eq!(egress.choose(&url("https://h.example/"), found.clone()).unwrap(), [found[1]]);
    assert_eq!(egress.choose(&url("https://own.example/"), found.clone()).unwrap(), found);
    let only_private = egress.choose(&url("https://h.example/"), [found[0]]);
    assert_eq!(only_private, Err(Denied::Private("h.example".to_owned())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// An address inside of another is judged like the one inside, and what the standard library calls local is not public.
    #[test]
    fn addresses_inside_of_others_are_judged_alike(bits: u32, six: u128) {
        let four = std::net::Ipv4Addr::from(bits);
        let public = address::is_public(IpAddr::V4(four));
        prop_assert_eq!(address::is_public(IpAddr::V6(four.to_ipv6_mapped())), public);
        prop_assert!(!address::is_public(IpAddr::V6(four.to_ipv6_compatible())));
        if four.is_private() || four.is_loopback() || four.is_link_local() || four.is_multicast() || four.is_broadcast() {
            prop_assert!(!public);
        }
        let six = std::net::Ipv6Addr::from(six);
        if six.is_multicast() || six.is_unique_local() || six.is_unicast_link_local() {
            prop_assert!(!address::is_public(IpAddr::V6(six)));
        }
    }
}
