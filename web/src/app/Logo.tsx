/** The stones. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className={className}>
      <ellipse cx="16" cy="26" rx="12" ry="4.5" fill="#4f7a6b" />
      <ellipse cx="15" cy="17.5" rx="8.5" ry="4" fill="#6d9a89" />
      <ellipse cx="17" cy="10" rx="5.5" ry="3.3" fill="#8db7a7" />
      <ellipse cx="16" cy="4.5" rx="3" ry="2" fill="#b4d3c7" />
    </svg>
  )
}
