// Writes the properties of Unicode that tokenizers need, as Node's ICU knows them: node make.mjs >unicode.bin
//
// All numbers are varints, ranges are the distances between their ends. The file holds: a mark of 16 bytes, by which wasmlink finds it; its
// size; runs of general categories; sets by name; names of scripts and runs of these; classes of combining marks; full decompositions, canonical and by compatibility; pairs
// that compose.

import process from 'node:process'

const CATEGORIES = 'Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co'.split(' ')
const SETS = {
  Alphabetic: /\p{Alphabetic}/u,
  Join_Control: /\p{Join_Control}/u
}
const SCRIPTS = `Common Inherited Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
  Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Coptic Cuneiform
  Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian
  Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana
  Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
  Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam
  Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
  Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki
  Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage
  Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian
  Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet
  Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
  Zanabazar_Square Garay Gurung_Khema Kirat_Rai Ol_Onal Sunuwar Todhri Tulu_Tigalari Beria_Erfe Sidetic Tai_Yo Tolong_Siki`.split(/\s+/)
const LAST = 0x10ffff
const MARK = 'polygrad.unicode'

const out = []
const number = (value) => {
  for (; value > 127; value = Math.floor(value / 128)) out.push(value % 128 + 128)
  out.push(value)
}
const text = (value) => {
  number(value.length)
  for (const c of value) out.push(c.charCodeAt(0))
}
const charOf = (c) => String.fromCodePoint(c)
const isSurrogate = (c) => c >= 0xd800 && c < 0xe000
const all = function * () { for (let c = 0; c <= LAST; c++) if (!isSurrogate(c)) yield c }

/** Runs of code points with the same value: [first, value]. */
function runsOf (valueOf) {
  const runs = []
  for (let c = 0; c <= LAST; c++) {
    const value = valueOf(c)
    if (runs.length === 0 || runs.at(-1)[1] !== value) runs.push([c, value])
  }
  return runs
}

const tests = CATEGORIES.map((name) => new RegExp(`\\p{${name}}`, 'u'))
let last = 0
const categories = runsOf((c) => {
  const s = charOf(c)
  if (!tests[last].test(s)) last = tests.findIndex((test) => test.test(s))
  return last
})
number(categories.length)
categories.forEach(([first, value], i) => {
  number(first - (i > 0 ? categories[i - 1][0] : 0))
  number(value)
})

number(Object.keys(SETS).length)
for (const [name, test] of Object.entries(SETS)) {
  text(name)
  const ends = runsOf((c) => test.test(charOf(c))).map(([first]) => first)
  if (!test.test('\0')) ends.shift()
  if (ends.length % 2 === 1) ends.push(LAST + 1)
  number(ends.length)
  ends.forEach((end, i) => number(end - (i > 0 ? ends[i - 1] : 0)))
}

number(SCRIPTS.length)
SCRIPTS.forEach(text)
const scriptTests = SCRIPTS.map((name) => new RegExp(`\\p{Script=${name}}`, 'u'))
let lastScript = 0
const scripts = runsOf((c) => {
  const s = charOf(c)
  if (!scriptTests[lastScript].test(s)) lastScript = Math.max(scriptTests.findIndex((test) => test.test(s)), 0)
  if (scriptTests[lastScript].test(s)) return lastScript + 1
  if (/[^\p{Cn}\p{Co}\p{Cs}]/u.test(s)) throw new Error(`U+${c.toString(16)} has a script that is not listed`)
  return 0
})
number(scripts.length)
scripts.forEach(([first, value], i) => {
  number(first - (i > 0 ? scripts[i - 1][0] : 0))
  number(value)
})

// ICU tells no classes, but their order: of two marks the one of the lower class comes first.
const swaps = (a, b) => `a${a}${b}`.normalize('NFD') !== `a${a}${b}` && `a${b}${a}`.normalize('NFD') === `a${b}${a}`
const [LOW, HIGH] = ['\u0334', '\u0345']
const marks = Array.from(all()).filter((c) => {
  const s = charOf(c)
  return s.normalize('NFD') === s && (swaps(s, LOW) || swaps(HIGH, s))
})
const groups = []
for (const c of marks) {
  const s = charOf(c)
  const at = groups.findIndex((group) => !swaps(s, charOf(group[0])))
  if (at >= 0 && !swaps(charOf(groups[at][0]), s)) groups[at].push(c)
  else groups.splice(at < 0 ? groups.length : at, 0, [c])
}
const classOf = new Map(groups.flatMap((group, i) => group.map((c) => [c, i + 1])))
number(marks.length)
marks.forEach((c, i) => {
  number(c - (i > 0 ? marks[i - 1] : 0))
  number(classOf.get(c))
})

const isHangul = (c) => c >= 0xac00 && c < 0xd7a4
for (const [form, besides] of [['NFD', null], ['NFKD', 'NFD']]) {
  const found = Array.from(all()).filter((c) => {
    const s = charOf(c)
    return !isHangul(c) && s.normalize(form) !== (besides === null ? s : s.normalize(besides))
  })
  number(found.length)
  found.forEach((c, i) => {
    number(c - (i > 0 ? found[i - 1] : 0))
    const parts = Array.from(charOf(c).normalize(form), (s) => s.codePointAt(0))
    number(parts.length)
    parts.forEach(number)
  })
}

const pairs = Array.from(all()).flatMap((c) => {
  const s = charOf(c)
  const parts = Array.from(s.normalize('NFD'))
  if (isHangul(c) || parts.length < 2 || s.normalize('NFC') !== s) return []
  const head = parts.slice(0, -1).join('').normalize('NFC')
  return Array.from(head).length === 1 ? [[head.codePointAt(0), parts.at(-1).codePointAt(0), c]] : []
})
number(pairs.length)
for (const pair of pairs) pair.forEach(number)

const size = Buffer.alloc(4)
size.writeUInt32LE(out.length)
process.stdout.write(Buffer.concat([Buffer.from(MARK), size, Buffer.from(out)]))
