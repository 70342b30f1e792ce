use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_800_000_000;

/// Made with `openssl genpkey` for these tests; it protects nothing.
const RSA_TEST_KEY: &[u8] = include_bytes!("keys/rsa_test_only.pk8");

type Sign = dyn Fn(&[u8]) -> Vec<u8>;

/// A way to sign, the public key to publish for it, and the name of the algorithm.
struct Signer {
    algorithm: &'static str,
    public: Value,
    sign: Box<Sign>,
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn rsa(algorithm: &'static str, encoding: &'static dyn RsaEncoding) -> Signer {
    let pair = RsaKeyPair::from_pkcs8(RSA_TEST_KEY).unwrap();
    let components: ring::signature::RsaPublicKeyComponents<Vec<u8>> = pair.public_key().into();
    let public = json!({"kty": "RSA", "kid": algorithm, "n": text(components.n), "e": text(components.e)});
    let sign = move |message: &[u8]| {
        let mut signature = vec![0; pair.public().modulus_len()];
        pair.sign(encoding, &SystemRandom::new(), message, &mut signature).unwrap();
        signature
    };
    Signer { algorithm, public, sign: Box::new(sign) }
}

fn elliptic(algorithm: &'static str, curve: &str, signing: &'static EcdsaSigningAlgorithm) -> Signer {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(signing, document.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref()[1..].to_vec();
    let (x, y) = point.split_at(point.len() / 2);
    let public =
        json!({"kty": "EC", "crv": curve, "kid": algorithm, "x": text(x), "y": text(y), "use": "sig"});
    let sign = move |message: &[u8]| pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec();
    Signer { algorithm, public, sign: Box::new(sign) }
}

fn edwards() -> Signer {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let x = text(pair.public_key());
    let public = json!({"kty": "OKP", "crv": "Ed25519", "kid": "EdDSA", "x": x, "alg": "EdDSA"});
    Signer { algorithm: "EdDSA", public, sign: Box::new(move |message| pair.sign(message).as_ref().to_vec()) }
}

fn token(signer: &Signer, header: &Value, claims: &Value) -> String {
    let signed = format!("{}.{}", text(header.to_string()), text(claims.to_string()));
    let signature = (signer.sign)(signed.as_bytes());
    format!("{signed}.{}", text(signature))
}

fn good_claims() -> Value {
    json!({"iss": "https://issuer.example", "aud": "toolgate", "sub": "anna", "exp": NOW + 300, "groups": ["b", "a", "b"]})
}

fn issuer(keys: &[&Value]) -> Issuer {
    let issuer = Issuer::new(IssuerSettings::new("https://issuer.example", "toolgate"));
    issuer.replace_keys(Jwks::parse(json!({"keys": keys}).to_string().as_bytes()).unwrap());
    issuer
}

fn verify(issuer: &Issuer, token: &str) -> Result<Caller, Reason> {
    let parts = Parts::of(token.as_bytes())?;
    issuer.verify(&parts, NOW).map_err(|denied| denied.reason)
}

#[test]
fn every_algorithm_is_checked_with_its_own_key_only() {
    let signers = [
        rsa("RS256", &RSA_PKCS1_SHA256),
        rsa("RS384", &RSA_PKCS1_SHA384),
        rsa("RS512", &RSA_PKCS1_SHA512),
        rsa("PS256", &RSA_PSS_SHA256),
        rsa("PS384", &RSA_PSS_SHA384),
        rsa("PS512", &RSA_PSS_SHA512),
        elliptic("ES256", "P-256", &ECDSA_P256_SHA256_FIXED_SIGNING),
        elliptic("ES384", "P-384", &ECDSA_P384_SHA384_FIXED_SIGNING),
        edwards(),
    ];
    let issuer = issuer(&signers.iter().map(|signer| &signer.public).collect::<Vec<_>>());
    for signer in &signers {
        let named = token(signer, &json!({"alg": signer.algorithm, "kid": signer.algorithm}), &good_claims());
        let caller =
            verify(&issuer, &named).unwrap_or_else(|reason| panic!("{}: {reason}", signer.algorithm));
        assert_eq!((&*caller.id, caller.groups.len()), ("anna", 2));
        assert_eq!(caller.valid_until, Some(NOW + 360));

        let unnamed = token(signer, &json!({"alg": signer.algorithm}), &good_claims());
        assert!(verify(&issuer, &unnamed).is_ok(), "{} without kid", signer.algorithm);

        let mut tampered = named.clone().into_bytes();
        let inside_claims = named.find('.').unwrap() + 20;
        tampered[inside_claims] ^= 1;
        let tampered = String::from_utf8(tampered).unwrap();
        assert!(verify(&issuer, &tampered).is_err(), "{} tampered", signer.algorithm);

        for other in signers.iter().filter(|other| other.algorithm != signer.algorithm) {
            let mislabelled = token(signer, &json!({"alg": other.algorithm}), &good_claims());
            assert!(verify(&issuer, &mislabelled).is_err(), "{} as {}", signer.algorithm, other.algorithm);
        }
    }
}

#[test]
fn tokens_that_must_not_pass_do_not() {
    let signer = edwards();
    let issuer = issuer(&[&signer.public]);
    let header = json!({"alg": "EdDSA", "kid": "EdDSA"});
    let with = |changes: Value| {
        let mut claims = good_claims();
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    };
    for (header, claims, expected) in [
        (header.clone(), with(json!({})), Ok("anna")),
        (header.clone(), with(json!({"aud": ["other", "toolgate"]})), Ok("anna")),
        (header.clone(), with(json!({"exp": NOW - 59})), Ok("anna")),
        (header.clone(), with(json!({"exp": NOW - 60})), Err(Reason::ExpiredToken)),
        (header.clone(), with(json!({"exp": 1e300})), Ok("anna")),
        (header.clone(), with(json!({"exp": "soon"})), Err(Reason::MalformedToken)),
        (header.clone(), with(json!({"exp": -1})), Err(Reason::MalformedToken)),
        (header.clone(), with(json!({"exp": null})), Err(Reason::MalformedToken)),
        (header.clone(), with(json!({"nbf": NOW + 60})), Ok("anna")),
        (header.clone(), with(json!({"nbf": NOW + 61})), Err(Reason::EarlyToken)),
        (header.clone(), with(json!({"iat": NOW + 3600})), Err(Reason::EarlyToken)),
        (header.clone(), with(json!({"aud": "other"})), Err(Reason::WrongAudience)),
        (header.clone(), with(json!({"aud": 7})), Err(Reason::WrongAudience)),
        (header.clone(), with(json!({"sub": ""})), Err(Reason::NoCaller)),
        (header.clone(), with(json!({"sub": "a\nb"})), Err(Reason::NoCaller)),
        (header.clone(), with(json!({"sub": ["anna"]})), Err(Reason::NoCaller)),
        (header.clone(), with(json!({"groups": 7})), Err(Reason::UnacceptableToken)),
        (header.clone(), with(json!({"groups": vec!["g"; 1025]})), Err(Reason::UnacceptableToken)),
        (json!({"alg": "none"}), with(json!({})), Err(Reason::UnacceptableToken)),
        (json!({"alg": "HS256", "kid": "EdDSA"}), with(json!({})), Err(Reason::UnacceptableToken)),
        (json!({"alg": "eddsa"}), with(json!({})), Err(Reason::UnacceptableToken)),
        (json!({"alg": "EdDSA", "crit": ["exp"]}), with(json!({})), Err(Reason::UnacceptableToken)),
        (json!({"alg": "EdDSA", "kid": "other"}), with(json!({})), Err(Reason::UnknownSigner)),
        (json!({"alg": "ES256", "kid": "EdDSA"}), with(json!({})), Err(Reason::UnknownSigner)),
        (json!({"kid": "EdDSA"}), with(json!({})), Err(Reason::MalformedToken)),
    ] {
        let got = verify(&issuer, &token(&signer, &header, &claims)).map(|caller| caller.id.to_string());
        assert_eq!(got, expected.map(str::to_owned), "{header} {claims}");
    }
}

#[test]
fn damaged_tokens_are_malformed() {
    let signer = edwards();
    let good = token(&signer, &json!({"alg": "EdDSA"}), &good_claims());
    let (signed, _) = good.rsplit_once('.').unwrap();
    let oversized = format!("{good}{}", "A".repeat(MAX_TOKEN_BYTES));
    for (damaged, expected) in [
        ("a.b", Reason::MalformedToken),
        ("..", Reason::MalformedToken),
        ("", Reason::MalformedToken),
        (&format!("{good}.x"), Reason::MalformedToken),
        (&format!("{good}="), Reason::MalformedToken),
        (&oversized, Reason::MalformedToken),
        (&format!("{signed}."), Reason::BadSignature),
        (&format!("{signed}.AAAA"), Reason::BadSignature),
    ] {
        assert_eq!(verify(&issuer(&[&signer.public]), damaged), Err(expected), "{damaged:.40}");
    }
}

#[test]
fn claims_are_found_by_path_and_groups_in_words() {
    let signer = edwards();
    let mut settings = IssuerSettings::new("https://issuer.example", "toolgate");
    settings.caller_claim = "https://example.org/name".to_owned();
    settings.groups_claim = Some("realm.access.roles".to_owned());
    let issuer = Issuer::new(settings);
    issuer.replace_keys(Jwks::parse(json!({"keys": [signer.public]}).to_string().as_bytes()).unwrap());
    let mut claims = good_claims();
    claims["https://example.org/name"] = json!("anna@example.org");
    claims["realm"] = json!({"access": {"roles": "admin  reader"}});
    let caller = verify(&issuer, &token(&signer, &json!({"alg": "EdDSA"}), &claims)).unwrap();
    assert_eq!(&*caller.id, "anna@example.org");
    assert_eq!(caller.groups.iter().map(|group| &**group).collect::<Vec<_>>(), ["admin", "reader"]);
}

#[test]
fn an_unknown_signer_asks_for_new_keys_but_not_too_often() {
    let (old, new) = (edwards(), edwards());
    let mut published = new.public.clone();
    published["kid"] = json!("new");
    let issuer = issuer(&[&old.public]);
    let token = token(&new, &json!({"alg": "EdDSA", "kid": "new"}), &good_claims());
    let parts = Parts::of(token.as_bytes()).unwrap();
    let asks = |now: u64| issuer.verify(&parts, now).unwrap_err().refresh.is_some();
    assert_eq!([NOW, NOW, NOW + 29, NOW + 30].map(asks), [true, false, false, true]);
    issuer.replace_keys(Jwks::parse(json!({"keys": [published]}).to_string().as_bytes()).unwrap());
    assert!(issuer.verify(&parts, NOW + 31).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn garbage_is_refused_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Parts::of(&bytes).is_err());
        prop_assert!(Jwks::parse(&bytes).is_err());
    }

    #[test]
    fn well_formed_lies_are_refused(
        alg in "none|HS256|ES256|EdDSA|RS256|[A-Za-z0-9]{0,6}",
        claims in "\\{\"exp\":[0-9]{1,25}(e[0-9]{1,3})?\\}",
        signature in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let header = json!({"alg": alg});
        let lie = format!("{}.{}.{}", text(header.to_string()), text(&claims), text(signature));
        prop_assert!(verify(&issuer(&[&edwards().public]), &lie).is_err());
    }
}
