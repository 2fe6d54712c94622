import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from './Button'

/** Copies a text. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <Button
      kind="bare"
      small
      aria-label={copied ? 'Copied' : label}
      title={label}
      className="px-1.5"
      icon={copied ? <Check aria-hidden className="text-good size-3.5" /> : <Copy aria-hidden className="size-3.5" />}
      onClick={() =>
        void navigator.clipboard.writeText(text).then(
          () => setCopied(true),
          () => undefined,
        )
      }
    />
  )
}
