// Malicious names, values, messages and logs are shown as text, and none of them runs.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const script = '<script>window.pwned=1</script>'
const image = '"><img src=x onerror=window.pwned=1>'
const bidi = 'invoice\u202egpj.exe\u2066'
const shownBidi = 'invoice\\u202egpj.exe\\u2066'
const address = 'javascript:window.pwned=1'
const texts = [script, image, bidi, address]

const esc = '\x1b'
// Control sequences of a terminal, one per line.
const sequences = [
  `${esc}[2J${esc}[H${esc}[99Acursor moved`,
  `${esc}]8;;${address}${esc}\\a link${esc}]8;;${esc}\\`,
  `${esc}]8;;https://elsewhere.example/${esc}\\another link${esc}]8;;${esc}\\`,
  `${esc}]0;owned${esc}\\${esc}]2;owned\x07a title`,
  `${esc}]52;c;b3duZWQ=\x07the clipboard`,
  `${esc}Pq#0;2;0;0;0~~${esc}\\a picture`,
  `${esc}[31m${script}${esc}[0m${image}`,
  bidi,
  `over\x08\x08\x08\x08writ\rten\0\x7f`,
  `${esc}c${esc}(0reset`,
]

/** Encodes a text as octal escapes for printf, which need no quotes. */
const octal = (text) => [...Buffer.from(text)].map((byte) => '\\' + byte.toString(8).padStart(3, '0')).join('')

const log = `
echo "before the bomb"
${sequences.map((line) => `printf '${octal(line + '\n')}'`).join('\n')}
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "\\033[3%d;1;4mx", i % 8; print "" }'
awk 'BEGIN { printf "\\033["; for (i = 0; i < 100000; i++) printf "1;"; print "mparameters" }'
awk 'BEGIN { printf "\\033["; for (i = 0; i < 100000; i++) printf "1"; print "" }'
# In pieces, since the runner omits log data that the server does not accept in time.
for n in 1 2 3 4 5 6 7 8 9 10; do head -c 1048576 /dev/zero | tr '\\0' z; sleep 0.5; done
echo
echo "after the bomb"
`

// A JSON string is a valid HCL string here.
const hcl = (value) => JSON.stringify(value)
const code = `
  resource "terraform_data" "disk" {
    for_each = toset(${hcl(texts)})
    input    = { (each.key) = each.key, lines = "${'one\\ntwo'} \${each.key}" }
  }
  module "inner" {
    source   = "./inner"
    for_each = toset(${hcl([script])})
  }
  output "texts" { value = ${hcl(texts)} }
  output "text" { value = ${hcl(texts.join('\n'))} }
`
const inner = 'resource "terraform_data" "in" {}'
const failing = `
  resource "terraform_data" "rule" {
    provisioner "local-exec" { command = ${hcl(`printf '${octal(texts.join(' ')).replaceAll('\\', '\\')}' >&2; exit 1`)} }
  }
`
const rules = `package main
warn contains msg if {
	msg := ${hcl(texts.join(' '))}
}`

describe('malicious text', () => {
  let cairn, user
  before(async () => {
    cairn = getCairn()
    user = await asAdmin()
    await user.context().addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        globalThis.violated = `${event.violatedDirective}: ${event.blockedURI}`
      })
    })
    const hostile = stack('hostile', code, {
      hooks: [{ step: 'plan', when: 'After', script: log }],
      policies: [{ configMap: { name: 'hostile-rules' } }],
    })
    hostile.spec.source.inline['inner/main.tf'] = inner
    await cairn.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'hostile-rules', namespace: 'default' }, data: { 'rules.rego': rules } },
      hostile,
      stack('hostile-fails', failing, { apply: 'Automatic', retry: { limit: 0 } }),
    )
    await cairn.until('run/hostile-1', 'jsonpath={.status.phase}=AwaitingApproval')
    await cairn.until('run/hostile-fails-1', 'jsonpath={.status.phase}=Failed')
  }, { timeout: 180_000 })
  after(noErrors)

  /** Fails if a page ran injected code, has injected elements or links, or has invisible characters; returns the visible text. */
  const harmless = async (page) => {
    const found = await page.evaluate(() => ({
      ran: [globalThis.pwned, globalThis.violated].filter(Boolean),
      elements: [...document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onload], [onclick], main script')].map((e) => e.outerHTML.slice(0, 200)),
      links: [...document.querySelectorAll('[href], [src], [action], [formaction]')]
        .map((e) => e.getAttribute('href') ?? e.getAttribute('src') ?? e.getAttribute('action') ?? e.getAttribute('formaction'))
        .filter((at) => !['http:', 'https:'].includes(new URL(at, location.href).protocol)),
      title: document.title,
      text: document.body.innerText,
      all: document.body.textContent,
      attributes: [...document.querySelectorAll('main *')].flatMap((e) => ['title', 'aria-label', 'alt', 'placeholder'].map((name) => e.getAttribute(name) ?? '')).join('\n'),
    }))
    assert.deepEqual([found.ran, found.elements, found.links], [[], [], []])
    const unseen = /.{0,80}[\u0000-\u0008\u000b-\u001f\u007f\u200b\u202a-\u202e\u2066-\u2069]/
    for (const text of [found.all, found.attributes]) assert.equal(unseen.exec(text)?.[0], undefined, 'the last character is invisible')
    assert.doesNotMatch(found.title, /owned/)
    return found.text
  }
  /** Opens a view, and fails if it lacks a text or is not harmless. */
  const shows = async (path, ...wanted) => {
    await to(user, path)
    for (const text of wanted) await waitForText(user.getByRole('main'), text)
    return harmless(user)
  }

  test('a plan shows names, values, modules and policy messages as text', async () => {
    await shows('/runs/default/hostile-1', `terraform_data.disk[${hcl(script)}]`, shownBidi)
    await user.getByRole('button', { name: 'Unfold all' }).click()
    await waitForText(user, `"${script}"`)
    for (const text of [script, image, shownBidi, address]) assert.ok((await harmless(user)).includes(text), text)
    for (const text of await user.getByRole('button', { name: /^Show the text/ }).elementHandles()) await text.click()
    await waitForText(user, `two ${script}`)
    await harmless(user)
  })

  for (const [path, ...wanted] of [
    ['/runs/default/hostile-1?tab=text', script, shownBidi],
    ['/runs/default/hostile-1?tab=graph', 'terraform_data.disk'],
    ['/runs/default/hostile-1?tab=events', 'Events'],
    ['/runs/default/hostile-fails-1', script, shownBidi],
    ['/runs/default/hostile-fails-1?tab=log', script, shownBidi],
    ['/stacks/default/hostile-fails', script, shownBidi],
    ['/stacks/default/hostile?tab=spec', script],
    ['/', 'hostile'],
  ]) {
    test(`${path} shows text`, () => shows(path, ...wanted))
  }

  test('a log with control sequences shows text', async (t) => {
    await shows('/runs/default/hostile-1?tab=log&step=after-plan', 'before the bomb')
    const region = user.getByRole('region', { name: 'Log' })
    const search = user.getByRole('searchbox', { name: 'Search in the log' })
    const find = async (text) => {
      await search.fill(text)
      await user.getByRole('status').filter({ hasText: /^\d+ of \d/ }).waitFor()
      await search.press('Enter')
    }
    for (const text of ['cursor moved', 'a link', 'another link', 'a title', 'the clipboard', 'a picture', 'writ', 'reset']) {
      await find(text)
      await region.locator('mark', { hasText: text }).first().waitFor()
      await harmless(user)
    }
    assert.equal(await region.locator('a:not([aria-label^="Link to line"])').count(), 0)

    // A line of 10 MB is truncated with a button that shows more of it.
    await find('zzzzzzzz')
    const cut = region.getByRole('button', { name: /more characters/ }).filter({ visible: true }).last()
    await cut.scrollIntoViewIfNeeded()
    const left = Number((await cut.innerText()).replace(/ more characters.*/, '').replaceAll(',', ''))
    assert.ok(left > 1_000_000, `${left} characters are not shown`)
    const start = Date.now()
    await cut.click()
    await region.getByRole('button', { name: new RegExp(`^${(left - 18_000).toLocaleString('en')} more`) }).waitFor()
    t.diagnostic(`20,000 characters of a line after ${Date.now() - start} ms`)
    await search.fill('')
    await find('after the bomb')
    await waitForText(region, 'after the bomb')
    await harmless(user)
  })

  test('an applied Stack shows resources, outputs and versions as text', async () => {
    await to(user, '/runs/default/hostile-1')
    await user.getByRole('button', { name: 'Approve…' }).click()
    await user.getByRole('dialog').getByRole('button', { name: 'Approve and apply' }).click()
    await waitForText(user, 'Succeeded', { exact: true })
    await harmless(user)
    for (const text of [script, image, shownBidi, address]) assert.ok((await shows('/stacks/default/hostile?tab=outputs', script)).includes(text), text)
    await shows('/stacks/default/hostile?tab=resources', 'Read the state')
    await user.getByRole('button', { name: 'Read the state' }).click()
    await waitForText(user, shownBidi)
    await harmless(user)
    await shows('/states/default/hostile?tab=resources', shownBidi)
    await user.getByRole('button', { name: /terraform_data\.disk/ }).first().click()
    await waitForText(user, /lines/)
    await harmless(user)
  })
})
