import * as z from 'zod/mini'

// The page's policy lets no text be run as code, which zod would try before anything is checked. This is imported first.
z.config({ jitless: true })
