import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { Tabs } from './Tabs'

test('who chooses the tab that is shown already has chosen it', async () => {
  const onChange = vi.fn()
  const tabs = ['plan', 'log'].map((id) => ({ id, label: id, content: id }))
  render(<Tabs label="Parts" tabs={tabs} value="log" onChange={onChange} />)
  await userEvent.click(screen.getByRole('tab', { name: 'log' }))
  expect(onChange).toHaveBeenCalledWith('log')
})
