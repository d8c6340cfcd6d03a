//! The skill list, read back by parsers that are not ours: whatever a skill says of itself, the list is what was given.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use metier_prompt::{ActivationHint, Fate, ListFormat, ListedSkill, RenderedList, SkillList};
use metier_skill::{is_invisible, tokens};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};

const FORMATS: [ListFormat; 3] = [ListFormat::Xml, ListFormat::Markdown, ListFormat::Json];

/// What a skill says, owned.
#[derive(Debug, Clone)]
struct Said {
    name: String,
    description: Option<String>,
    location: Option<String>,
}

impl Said {
    fn new(name: &str, description: &str, location: &str) -> Self {
        let some = |text: &str| Some(text.to_owned());
        Self { name: name.to_owned(), description: some(description), location: some(location) }
    }

    fn listed(&self) -> ListedSkill<'_> {
        ListedSkill {
            name: &self.name,
            description: self.description.as_deref(),
            location: self.location.as_deref(),
        }
    }
}

/// Text of every kind that a format could stumble over.
fn text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "</name>",
        "</skill>",
        "</available_skills>",
        "<skill>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "&amp;",
        "&#x41;",
        "&",
        "\r\n",
        "\n- **x**",
        "\n\n",
        "`",
        "``",
        "\\",
        "\\`",
        "**",
        "[x](",
        "](y",
        "<a b=\"",
        "<!x",
        ">",
        "\"",
        "'",
        "\u{1}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
        "\u{202e}",
        "\u{2066}",
        "\u{200b}",
        "\u{200d}",
        "\u{200c}",
        "\u{feff}",
        "\u{ad}",
        "\u{61c}",
        "\u{e0041}",
        "\u{e0001}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{fdd0}",
        "\u{1fffe}",
        "\u{fe0f}",
        "👩\u{200d}💻",
        "می\u{200c}خواهم",
        "…",
        "  ",
        "\t",
        "\u{a0}",
        "\u{3000}",
        "# ",
        "1. ",
        "    ",
        "=====",
        "---",
        "~~~",
        "|",
    ]);
    let piece = prop_oneof![
        3 => hostile.prop_map(str::to_owned),
        2 => "[a-z ]{0,40}",
        1 => prop::char::any().prop_map(String::from),
        1 => "\\PC{0,10}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let one = (text(), prop::option::weighted(0.8, text()), prop::option::weighted(0.8, text()));
    prop::collection::vec(
        one.prop_map(|(name, description, location)| Said { name, description, location }),
        1..8,
    )
}

fn rendered(said: &[Said], format: ListFormat, budget: Option<usize>) -> RenderedList {
    let listed: Vec<ListedSkill<'_>> = said.iter().map(Said::listed).collect();
    SkillList::new(&listed).format(format).budget(budget).render()
}

/// The visible form of what XML cannot have.
fn xml_data(text: &str) -> String {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let show = |c: char| if is_allowed(c) { c.to_string() } else { format!("\\u{{{:X}}}", u32::from(c)) };
    text.chars().map(show).collect()
}

/// The skills that a parser finds.
fn parse_xml(text: &str) -> Vec<Said> {
    assert_eq!(text.matches("</available_skills>").count(), 1, "{text}");
    let (begin, end) = (text.find("<available_skills>").unwrap(), text.find("</available_skills>").unwrap());
    let document = roxmltree::Document::parse(&text[begin..end + "</available_skills>".len()]).unwrap();
    let skills = document.root_element().children().filter(roxmltree::Node::is_element);
    let read = |skill: roxmltree::Node<'_, '_>| {
        let part = |name: &str| {
            let mut found = skill.children().filter(|part| part.has_tag_name(name));
            let text = found.next().map(|part| part.text().unwrap_or_default().to_owned());
            assert!(found.next().is_none(), "{name} stands twice");
            text
        };
        assert!(skill.has_tag_name("skill"));
        Said { name: part("name").unwrap(), description: part("description"), location: part("location") }
    };
    skills.map(read).collect()
}

/// What there is in one item of a Markdown list: its first code, and how many items there are in it.
fn parse_markdown(text: &str) -> Vec<Option<String>> {
    let (mut items, mut depth): (Vec<Option<String>>, usize) = (Vec::new(), 0);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Item) => {
                assert_eq!(depth, 0, "a list in a list: {text}");
                depth += 1;
                items.push(None);
            }
            Event::End(TagEnd::Item) => depth -= 1,
            Event::Code(code) if depth > 0 => {
                let item = items.last_mut().unwrap();
                if item.is_none() {
                    *item = Some(code.into_string());
                }
            }
            _ => {}
        }
    }
    items
}

fn shown(text: &str, stays: &str) -> String {
    let show = |c: char| {
        let is_hidden = is_invisible(c) || (matches!(c, '\n' | '\t') && !stays.contains(c));
        if is_hidden { format!("\\u{{{:X}}}", u32::from(c)) } else { c.to_string() }
    };
    text.chars().map(show).collect()
}

#[test]
fn each_kind_of_text_in_xml() {
    let said = [Said::new(
        "</name>\u{202e}",
        "a\r\nb \u{85}\u{7f}]]> 👩\u{200d}💻 می\u{200c}خواهم \u{1}\u{fffe}\u{e0041}",
        "/x<y&'\"",
    )];
    let text = rendered(&said, ListFormat::Xml, None).text;
    let (_, list) = text.split_once("\n\n").unwrap();
    assert_eq!(
        list,
        "<available_skills>\n<skill>\n<name>&lt;/name&gt;&#x202E;</name>\n\
         <description>a&#xD;\nb &#x85;&#x7F;]]&gt; 👩&#x200D;💻 می&#x200C;خواهم \\u{1}\\u{FFFE}&#xE0041;</description>\n\
         <location>/x&lt;y&amp;&apos;&quot;</location>\n</skill>\n</available_skills>\n"
    );
}

#[test]
fn each_kind_of_text_in_markdown() {
    let said = [
        Said::new("a*b`c[d]<e&\\", "one\n- **two**: \u{202e}`code", "/a `b``c"),
        Said::new("plain", "Use <tags> & `code`.", "/s/SKILL.md"),
    ];
    let text = rendered(&said, ListFormat::Markdown, None).text;
    let (_, list) = text.split_once("\n\n").unwrap();
    assert_eq!(
        list,
        "- **a\\*b\\`c\\[d\\]\\<e\\&\\\\** (```/a `b``c```): one - **two**: \\u{202E}`code\n\
         - **plain** (`/s/SKILL.md`): Use <tags> & `code`.\n"
    );
}

#[test]
fn no_markup_of_a_name_takes_the_location_in() {
    for (name, location) in [
        ("[x](y", "/l))z"),
        ("<!x", "/a>b"),
        ("<a b=\"", "/c\" d>"),
        ("`", "/s"),
        ("\\", "`/s"),
        ("**", " /s "),
        ("&#96;", "/s``"),
    ] {
        let text = rendered(&[Said::new(name, "`", location)], ListFormat::Markdown, None).text;
        assert_eq!(parse_markdown(&text), [Some(location.to_owned())], "{text}");
    }
}

#[test]
fn each_kind_of_text_in_json() {
    let said = [Said::new("a\"\\", "\u{202e}\u{e0041}\r\n\t\u{1}é", "/x")];
    let text = rendered(&said, ListFormat::Json, None).text;
    assert!(
        text.contains(r#"{"name":"a\"\\","description":"\u202E\uDB40\uDC41\r\n\t\u0001é","location":"/x"}"#),
        "{text}"
    );
}

#[test]
fn agents_are_told_how_they_activate_and_search() {
    let long = "word ".repeat(100);
    let said: Vec<Said> = (0..9).map(|_| Said::new("a", &long, "/s")).collect();
    let listed: Vec<ListedSkill<'_>> = said.iter().map(Said::listed).collect();
    let nowhere: Vec<ListedSkill<'_>> =
        listed.iter().map(|skill| ListedSkill { location: None, ..*skill }).collect();
    for format in FORMATS {
        let text = |skills: &[ListedSkill<'_>], activation, search| {
            let list = SkillList::new(skills).format(format).budget(Some(200));
            list.activation(activation).search(search).render().text.replace('\n', " ")
        };
        let usual = SkillList::new(&listed).format(format).budget(Some(200)).render().text.replace('\n', " ");
        assert_eq!(usual, text(&listed, Some(ActivationHint::ReadFile), Some("`metier search`")));
        assert_eq!(text(&nowhere, None, None), text(&nowhere, Some(ActivationHint::ByName), None));
        let tool = text(&listed, Some(ActivationHint::Tool("load_skill")), Some("the tool `search_skills`"));
        assert!(tool.contains("call the tool `load_skill` with the skill's name"), "{tool}");
        assert!(tool.contains("find them with the tool `search_skills`."), "{tool}");
        let directory = text(&listed, Some(ActivationHint::ReadDirectory), None);
        assert!(directory.contains("read `SKILL.md` in the directory at its location"), "{directory}");
        assert!(directory.contains("more skills are left out to save room."), "{directory}");
    }
}

#[test]
fn an_explanation_says_what_became_of_each() {
    let long = "word ".repeat(60);
    let mut said: Vec<Said> = (0..4).map(|_| Said::new("long", &long, "/s")).collect();
    said.insert(1, Said { description: None, ..Said::new("bare", "", "/s") });
    said.insert(2, Said::new("short", "Use.", "/s"));
    let listed: Vec<ListedSkill<'_>> = said.iter().map(Said::listed).collect();
    let fates = |budget| {
        let explained = SkillList::new(&listed).budget(Some(budget)).explain();
        explained.skills.iter().map(|skill| skill.fate).collect::<Vec<_>>()
    };
    let cut = Fate::Shortened { from: 300, to: 77 };
    let out = Fate::LeftOut;
    assert_eq!(fates(270), [cut, Fate::NameOnly, Fate::Whole, cut, cut, cut]);
    assert_eq!(fates(230), [cut, Fate::NameOnly, Fate::Whole, cut, out, out]);
    assert_eq!(fates(3), [out; 6]);
}

#[test]
fn a_description_is_not_cut_where_that_saves_nothing() {
    // Blanks at the end are not written in Markdown, so that cutting them would only add a mark.
    let blank = format!("{}{}", "word ".repeat(12), " ".repeat(100));
    let said = [Said::new("blank", &blank, "/s"), Said::new("long", &"word ".repeat(200), "/s")];
    let listed: Vec<ListedSkill<'_>> = said.iter().map(Said::listed).collect();
    let explained = SkillList::new(&listed).format(ListFormat::Markdown).budget(Some(110)).explain();
    assert_eq!(explained.skills[0].fate, Fate::Whole);
    assert!(matches!(explained.skills[1].fate, Fate::Shortened { from: 1000, to: 80..150 }), "{explained:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn xml_parses_to_exactly_what_was_given(said in said()) {
        let found = parse_xml(&rendered(&said, ListFormat::Xml, None).text);
        prop_assert_eq!(found.len(), said.len());
        for (found, said) in found.iter().zip(&said) {
            prop_assert_eq!(&found.name, &xml_data(&said.name));
            prop_assert_eq!(&found.description, &said.description.as_deref().map(xml_data));
            prop_assert_eq!(&found.location, &said.location.as_deref().map(xml_data));
        }
    }

    #[test]
    fn json_parses_to_exactly_what_was_given(said in said()) {
        let value: Value = serde_json::from_str(&rendered(&said, ListFormat::Json, None).text).unwrap();
        let wanted = said.iter().map(|said| {
            let mut object = json!({ "name": said.name });
            for (key, value) in [("description", &said.description), ("location", &said.location)] {
                if let Some(value) = value {
                    object[key] = json!(value);
                }
            }
            object
        });
        prop_assert_eq!(&value["available_skills"], &wanted.collect::<Value>());
    }

    #[test]
    fn markdown_is_one_item_a_skill_with_its_location(said in said()) {
        let text = rendered(&said, ListFormat::Markdown, None).text;
        let (_, list) = text.split_once("\n\n").unwrap();
        prop_assert_eq!(list.lines().count(), said.len());
        prop_assert!(list.lines().all(|line| line.starts_with("- **")));
        let items = parse_markdown(&text);
        prop_assert_eq!(items.len(), said.len(), "{}", text);
        for (item, said) in items.iter().zip(&said) {
            // Nothing but blanks is no path, and is not quoted as it is.
            if let Some(location) = said.location.as_ref().filter(|location| !location.trim().is_empty()) {
                prop_assert_eq!(item.as_ref(), Some(&shown(location, "")), "{}", text);
            }
        }
    }

    #[test]
    fn nothing_unseen_is_written(said in said(), format in prop::sample::select(&FORMATS[..])) {
        let text = rendered(&said, format, None).text;
        prop_assert!(!text.chars().any(is_invisible), "{:?}", text);
    }

    #[test]
    fn budgets_are_kept_and_nothing_is_silent(
        said in prop::collection::vec(("[a-z]{1,20}", prop_oneof![text(), ".{0,400}", "([a-z]{1,9} ){0,90}"]), 1..30),
        budget in 0_usize..2000,
        format in prop::sample::select(&FORMATS[..]),
    ) {
        let said: Vec<Said> = said.iter().map(|(name, about)| Said::new(name, about, "/s/SKILL.md")).collect();
        let listed: Vec<ListedSkill<'_>> = said.iter().map(Said::listed).collect();
        let list = SkillList::new(&listed).format(format).budget(Some(budget));
        let rendered = list.render();
        prop_assert!(rendered.tokens <= budget, "{} > {}", rendered.tokens, budget);
        prop_assert_eq!(rendered.tokens, tokens(rendered.text.len()));
        prop_assert_eq!(rendered.text.matches("/s/SKILL.md").count() + rendered.omitted, said.len());
        let is_said = rendered.text.contains(&format!("{} more skill", rendered.omitted));
        prop_assert_eq!(is_said, rendered.omitted > 0 && !rendered.text.is_empty());

        let explained = list.explain();
        prop_assert_eq!(explained.tokens, rendered.tokens);
        prop_assert_eq!(explained.frame + explained.skills.iter().map(|skill| skill.tokens).sum::<usize>(), rendered.tokens);
        let count = |is: fn(&Fate) -> bool| explained.skills.iter().filter(|skill| is(&skill.fate)).count();
        prop_assert_eq!(count(|fate| *fate == Fate::LeftOut), rendered.omitted);
        prop_assert_eq!(count(|fate| matches!(fate, Fate::Shortened { .. })), rendered.shortened);

        // What fits is whole, and one token less is enough that it is not.
        let whole = list.budget(None).render();
        let exact = list.budget(Some(whole.tokens)).render();
        prop_assert_eq!(&exact, &whole);
        let less = list.budget(Some(whole.tokens - 1)).render();
        prop_assert!(less.shortened + less.omitted > 0);
    }

    #[test]
    fn a_shortened_description_is_a_beginning_of_it(
        said in prop::collection::vec("([a-z]{1,12}[ \u{3000}]){30,60}", 2..6),
        budget in 150_usize..400,
    ) {
        let said: Vec<Said> = said.iter().map(|about| Said::new("a", about, "/s")).collect();
        for (found, said) in parse_xml(&rendered(&said, ListFormat::Xml, Some(budget)).text).iter().zip(&said) {
            let (found, about) = (found.description.as_ref().unwrap(), said.description.as_ref().unwrap());
            if let Some(kept) = found.strip_suffix('…') {
                prop_assert!(found.len() >= 80 - 12 - 6, "{}", found);
                prop_assert!(about.strip_prefix(kept).unwrap().starts_with(char::is_whitespace), "{}", found);
            } else {
                prop_assert_eq!(found, about);
            }
        }
    }
}

#[test]
fn a_list_of_nothing_in_json_is_a_list_of_nothing() {
    for budget in [None, Some(0), Some(10)] {
        let text = SkillList::new(&[]).format(ListFormat::Json).budget(budget).render().text;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, serde_json::json!({ "available_skills": [] }));
    }
}
