import './app/noeval'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { newApp } from './app/start'
import './style.css'

createRoot(document.getElementById('root')!).render(<StrictMode>{newApp().element}</StrictMode>)
