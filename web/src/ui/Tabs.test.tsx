import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { Tabs } from './Tabs'

test('a click on the current tab calls onChange', async () => {
  const onChange = vi.fn()
  const tabs = ['plan', 'log'].map((id) => ({ id, label: id, content: id }))
  render(<Tabs label="Parts" tabs={tabs} value="log" onChange={onChange} />)
  await userEvent.click(screen.getByRole('tab', { name: 'log' }))
  expect(onChange).toHaveBeenCalledWith('log')
})
