export default { name: 'other' }
