import '@testing-library/jest-dom/vitest'
import { cleanup, configure } from '@testing-library/react'
import { afterEach, vi } from 'vitest'

// Only what never comes is waited for this long; a busy machine is slow.
configure({ asyncUtilTimeout: 20_000 })

// jsdom lays nothing out and has no stream of events.
Object.defineProperties(HTMLElement.prototype, {
  offsetHeight: { configurable: true, get: () => 600 },
  offsetWidth: { configurable: true, get: () => 800 },
  clientHeight: { configurable: true, get: () => 600 },
  clientWidth: { configurable: true, get: () => 800 },
})
window.scrollTo = () => undefined
Element.prototype.scrollTo = () => undefined
class NoEvents extends EventTarget {
  readyState = 0
  close() {
    this.readyState = 2
  }
}
vi.stubGlobal('EventSource', NoEvents)

afterEach(() => cleanup())
