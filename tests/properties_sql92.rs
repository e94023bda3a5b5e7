//! Random SQL92 expressions through the fuzz body: printing and reading is the identity, and evaluating never panics.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use rocketry_codec::filter::SqlExpression;
use rocketry_testkit::fuzz;

fn value() -> impl Strategy<Value = String> {
    let numbers = ["0", "5", "10", "2147483648", "9223372036854775807", "1.5", "1e300", "5e-324", ".25", "7L"];
    let texts = ["'x'", "''", "'it''s'", "'5'", "'true'", "'中'"];
    let names = ["a", "b", "c", "TAGS", "_missing", "$d"];
    prop_oneof![
        3 => proptest::sample::select(names.to_vec()).prop_map(String::from),
        2 => proptest::sample::select(numbers.to_vec()).prop_map(String::from),
        1 => proptest::sample::select(texts.to_vec()).prop_map(String::from),
        1 => proptest::sample::select(vec!["TRUE", "false", "NULL"]).prop_map(String::from),
    ]
}

/// Expressions, most of which compile.
fn expression() -> impl Strategy<Value = String> {
    let text = proptest::sample::select(vec!["'x'", "'abc'", "'it''s'", "''"]);
    let order = proptest::sample::select(vec!["<", "<=", ">", ">="]);
    let equal = proptest::sample::select(vec!["=", "<>"]);
    let search = proptest::sample::select(vec!["CONTAINS", "not STARTSWITH", "ENDSWITH", "NOT CONTAINS"]);
    let compared = prop_oneof![
        (value(), order, value()).prop_map(|(left, by, right)| format!("{left} {by} {right}")),
        (value(), equal, value()).prop_map(|(left, by, right)| format!("{left} {by} {right}")),
        (value(), value(), value()).prop_map(|(of, low, high)| format!("{of} BETWEEN {low} AND {high}")),
        (value(), value(), value()).prop_map(|(of, low, high)| format!("{of} NOT BETWEEN -{low} AND +{high}")),
        (value(), text.clone(), text.clone()).prop_map(|(of, one, two)| format!("{of} NOT IN ({one},{two})")),
        (value(), text.clone()).prop_map(|(of, one)| format!("{of} IN ( {one} )")),
        (value(), search, text).prop_map(|(of, how, text)| format!("{of} {how} {text}")),
        value(),
    ];
    compared.prop_recursive(6, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}) AND {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} or ({right})")),
            inner.clone().prop_map(|of| format!("NOT ({of})")),
            inner.clone().prop_map(|of| format!("({of}) IS NOT NULL")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("({left}) = ({right})")),
        ]
    })
}

fn properties() -> impl Strategy<Value = String> {
    let values = ["5", "10", "-1", "3.14", "9223372036854775807", "abc", "x", "true", "it's", " 6 ", "NaN", "1e400"];
    let pair = (proptest::sample::select(vec!["a", "b", "c", "TAGS", "$d"]), proptest::sample::select(values.to_vec()));
    let pair = pair.prop_map(|(name, value)| format!("{name}\u{1}{value}\u{2}"));
    proptest::collection::vec(pair, 0..5).prop_map(|pairs| pairs.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn printing_and_reading_is_the_identity(text in expression(), properties in properties()) {
        fuzz::sql_filter(format!("{text}\0{properties}").as_bytes());
    }

    #[test]
    fn damaged_expressions(text in expression(), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        characters[at] = with;
        fuzz::sql_filter(String::from_iter(characters).as_bytes());
    }

    #[test]
    fn any_text(text in "[ a-c0-9.'()<>=+,eLNOTRAD_$/*-]{0,40}") {
        fuzz::sql_filter(text.as_bytes());
    }
}

/// The drawn expressions are worth drawing: many of them compile.
#[test]
fn enough_of_them_compile() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let compiled = (0..500).filter(|_| {
        let text = expression().new_tree(&mut runner).map(|tree| tree.current()).unwrap_or_default();
        SqlExpression::parse(&text).is_ok()
    });
    let compiled = compiled.count();
    assert!(compiled > 150, "only {compiled} of 500");
}
