// All tests use one Cairn and one browser, one after the other. Screenshots are first, before other test data exists. ONLY=hostile,large
// selects some.
import { useCairn } from './base.mjs'

const all = [
  'views', 'page', 'signin', 'navigation', 'attention', 'permissions', 'states', 'review', 'inventory', 'phone', 'hostile', 'lists', 'large', 'graph', 'restart',
]
const chosen = process.env.ONLY ? process.env.ONLY.split(',') : all

useCairn()
for (const name of chosen) await import(`./${name}.mjs`)
