// All tests use one Cairn and one browser, one after the other; the pictures are taken first, while nothing else is there. ONLY=hostile,large
// chooses some.
import { useCairn } from './base.mjs'

const all = ['views', 'page', 'people', 'states', 'phone', 'hostile', 'large', 'restart']
const chosen = process.env.ONLY ? process.env.ONLY.split(',') : all

useCairn()
for (const name of chosen) await import(`./${name}.mjs`)
