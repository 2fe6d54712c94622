// All tests use one Cairn and one browser, one after the other.
import { useCairn } from './base.mjs'

useCairn()
await import('./page.mjs')
await import('./people.mjs')
await import('./views.mjs')
await import('./restart.mjs')
