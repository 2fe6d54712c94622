import js from '@eslint/js'
import a11y from 'eslint-plugin-jsx-a11y'
import hooks from 'eslint-plugin-react-hooks'
import globals from 'globals'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['dist', 'src/api/*.d.ts'] },
  js.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}', 'vite.config.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      // The router's way to leave a loader.
      '@typescript-eslint/only-throw-error': 'off',
    },
  },
  {
    files: ['src/**/*.tsx'],
    extends: [a11y.flatConfigs.recommended, hooks.configs.flat['recommended-latest']],
    rules: {
      // What the API says is text, never markup.
      'no-restricted-syntax': [
        'error',
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Show text as text.' },
      ],
      // TanStack's hooks are meant to be used as they are.
      'react-hooks/incompatible-library': 'off',
    },
  },
  { files: ['scripts/**', 'public/**', '*.js'], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
)
